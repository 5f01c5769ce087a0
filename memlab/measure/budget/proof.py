"""A choice of the board that runs: planned and measured bytes of a version that fits this machine.

256 images of ResNet-50 do not fit a laptop, whatever is chosen. So images become smaller and fewer,
while the blocks, and with them the choice, stay what they are. A text is run whole where its plan
leaves room.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memlab import strings, units
from memlab.measure.budget.board import Board, Choice, Level
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.runtime.run import Run, run

IMAGE, CLASSES, IMAGES = 64, 10, 4
"""Side of the small images, classes, and images of a step that runs."""
ROOM = 2 * 10**9
"""Bytes of a step that is run whole."""


@dataclass(frozen=True)
class Proof:
    """Run of a choice on the board ``ran``, which has the level's network or a smaller version."""

    ran: Board
    choice: Choice
    run: Run
    whole: bool

    @property
    def peak(self) -> int:
        """Measured bytes of the peak."""
        return self.run.peak

    @property
    def residual(self) -> int:
        """Bytes between plan and measurement, the most of all operations; 0 where the plan held."""
        return self.run.residual

    def text(self) -> str:
        """Choice, version, planned and measured bytes, and residual, in words."""
        level = self.ran.level
        shape = " x ".join(map(str, level.network.input_shape))
        planned = self.run.planned.peak(self.run.batch)
        return strings.get(
            f"budget.proof.{'whole' if self.whole else 'small'}", line=self.ran.line(self.choice),
            network=level.network.label, batch=level.batch, shape=shape,
            planned=units.exact(planned), measured=units.exact(self.peak),
            residual=units.exact(self.residual),
        )  # fmt: skip

    __str__ = __repr__ = text


def prove(board: Board, choice: Choice, seed: int = 0) -> Proof:
    """Return a run of a choice: of the level itself where its plan takes at most ``ROOM`` bytes and
    its input is a text, else of a small version of it.

    Args:
        board: board of a level.
        choice: any choice on it.
        seed: seed of everything that is drawn.

    Raises:
        DoesNotFitError: what runs needs more than is free; nothing was allocated.
    """
    whole = _is_text(board.level.network) and board.rated(choice).peak <= ROOM
    ran = board if whole else Board(small(board.level))
    done = run(ran.step_of(choice), ran.batch_of(choice), seed=seed)
    return Proof(ran, choice, done, whole)


def small(level: Level) -> Level:
    """Return a level with the same blocks that fits any machine: smaller images, and few of them,
    or as few texts as there may be parts."""
    if _is_text(level.network):
        return replace(level, batch=max(level.parts))
    network = zoo.ZOO[level.network.name](image=IMAGE, classes=CLASSES)
    return replace(level, network=network, batch=IMAGES)


def _is_text(network: Network) -> bool:
    return bool(network.vocabulary)
