"""The published table: what texts claim, who says it, and what comes out when it is computed.

``claims.toml`` has the claims, ``figures.toml`` the figures of our own, ``texts.toml`` the texts. A
row's ``call`` is evaluated as it is printed, so a reader can paste it after ``import memlab``; a
verdict compares the result with the figure as it was claimed, to the digits that were printed.
Docstrings and lessons cite the ids.
"""

from memlab.claims import revolve, transformers
from memlab.claims.chen2016_step import chen2016
from memlab.claims.data_path_values import (
    copies_in_epoch,
    moved_in_epoch,
    reserved,
    unplanned,
    way,
)
from memlab.claims.offload_values import (
    average_saved,
    average_saved_of_all,
    early_copies,
    furthest_prefetch,
    idle_share,
    kinds_of_memory,
    less_speed,
    less_speed_dynamic,
    link_seconds,
    more_time,
    moved_bytes,
    moved_for_activations,
    moved_for_others,
    peak_dynamic,
    peak_saved,
    started_before_the_end,
)
from memlab.claims.plan_values import (
    all_times,
    all_workspace,
    chain,
    chen2016_resnet1000,
    copies,
    extra_work,
    falls,
    gradient_copies,
    indirection,
    input_bytes,
    input_share,
    kept,
    lanes,
    layers_of,
    least_columns,
    lowered_bytes,
    lowered_factor,
    map_bytes,
    map_share,
    maps,
    maps_over_bound,
    mask_share,
    model_state_bytes,
    no_reuse_over,
    overwriting,
    parameter_share,
    parameters_of,
    peak,
    per_parameter,
    resnet1000,
    rnn1000,
    rounded_terms,
    saved,
    share,
    stage_share,
    stored,
    stored_winograd,
    times_less,
    total,
    values_per_parameter,
    walked,
    with_buffers,
    workspace,
)
from memlab.claims.run_values import seconds_over, single_layer
from memlab.claims.table import (
    FORMULA,
    HOW,
    SURE,
    Claim,
    OwnFigure,
    SourceText,
    TableRow,
    as_printed,
    figures,
    find,
    of_text,
    table,
    text,
    texts,
)
from memlab.claims.verdicts import VERDICTS, verdict

__all__ = [
    "FORMULA", "HOW", "SURE", "VERDICTS", "Claim", "OwnFigure", "SourceText", "TableRow",
    "all_times", "all_workspace", "as_printed", "average_saved", "average_saved_of_all", "chain",
    "chen2016", "chen2016_resnet1000", "copies", "copies_in_epoch", "early_copies", "extra_work",
    "falls", "figures", "find", "furthest_prefetch", "gradient_copies", "idle_share", "indirection",
    "input_bytes", "input_share", "kept", "kinds_of_memory", "lanes", "layers_of", "least_columns",
    "less_speed", "less_speed_dynamic", "link_seconds", "lowered_bytes", "lowered_factor",
    "map_bytes", "map_share", "maps", "maps_over_bound", "mask_share", "model_state_bytes",
    "more_time", "moved_bytes", "moved_for_activations", "moved_for_others", "moved_in_epoch",
    "no_reuse_over", "of_text", "overwriting", "parameter_share", "parameters_of", "peak",
    "peak_dynamic", "peak_saved", "per_parameter", "reserved", "resnet1000", "revolve", "rnn1000",
    "rounded_terms", "saved", "seconds_over", "share", "single_layer", "stage_share",
    "started_before_the_end", "stored", "stored_winograd", "table", "text", "texts", "times_less",
    "total", "transformers", "unplanned", "values_per_parameter", "verdict", "walked", "way",
    "with_buffers", "workspace",
]  # fmt: skip
