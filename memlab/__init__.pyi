"""The public names of memlab, each with the module that it is loaded from when first used."""

from . import claims as claims
from . import formats as formats
from . import kernels as kernels
from . import lesson as lesson
from . import rounding as rounding
from . import units as units
from . import views as views
from .assemble.step import inference_step as inference_step
from .assemble.step import training_step as training_step
from .clocks.data_path import data_path as data_path
from .clocks.streams import clock as clock
from .errors import InputError as InputError
from .frontends.torch import record as record
from .frontends.torch.fitting import fit_model as fit_model
from .ledger.diff import diff as diff
from .ledger.files import load as load
from .ledger.files import save as save
from .ledger.ledger import Ledger as Ledger
from .ledger.plan import plan as plan
from .lesson.material.images import images as images
from .networks import counting as counting
from .networks import language_models as language_models
from .networks import zoo as zoo
from .networks.builder import network as network
from .networks.fine_tuning import freeze as freeze
from .networks.fine_tuning import lora as lora
from .networks.graph import Network as Network
from .pictures.explain.report import explain as explain
from .pictures.remedies.remedies import remedies as remedies
from .placement.placement import place as place
from .runtime.loader.feed import Fed as Fed
from .runtime.loader.feed import feed as feed
from .runtime.run import Run as Run
from .runtime.run import run as run
from .runtime.training import History as History
from .runtime.training import train as train
from .setup_checks import doctor as doctor
from .step.step import Step as Step
from .techniques.accumulate import accumulate as accumulate
from .techniques.chunked_loss import chunked_loss as chunked_loss
from .techniques.in_place import in_place as in_place
from .techniques.lowering import lowering as lowering
from .techniques.no_reuse import no_reuse as no_reuse
from .techniques.offload import offload as offload
from .techniques.precision import precision as precision
from .techniques.precision.eight_bit_states import eight_bit_states as eight_bit_states
from .techniques.recompute import recompute as recompute
from .techniques.release import release as release
from .techniques.relu_masks import relu_masks as relu_masks

__version__: str
__all__: list[str]
