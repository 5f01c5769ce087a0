"""How far a recorded plan is from what PyTorch holds, on models in their usual size.

    python -m tests.frontends.accuracy [--models resnet50,gpt] [--batches 2,3,8] [--optimizers adam]

Batches 2 and 3 are recorded, the others are not. Each line counts a real step, storage by storage;
the largest take some GB and a minute.
"""

from __future__ import annotations

import argparse

import torch

import memlab
from memlab.frontends.torch import record
from memlab.step.tensor import Role
from tests.oracles.torch_peak import count
from tests.torch_models import SMALL, USUAL

SURE = ("parameter", "buffer", "input", "optimizer_state")


def line(name: str, batch: int, optimizer: str, small: bool = False) -> str:
    """A model at a batch: bytes that PyTorch held, how far the plan is from it, and by role."""
    case = (SMALL if small else USUAL)[name]
    step = record(case.build, case.make_batch, case.loss_fn, optimizer, autocast=case.autocast)
    ledger = memlab.plan(step)
    found = count(case.build, case.make_batch, case.loss_fn, batch, optimizer, case.autocast)
    roles = ledger.roles(batch, workspace=False)
    off = {role: roles[Role(role)] - found.total(role) for role in SURE}
    unequal = ", ".join(f"{role} {more:+,}" for role, more in off.items() if more)
    more = ledger.peak(batch, workspace=False) - found.most
    return (
        f"{name:14}{batch:>4}  {optimizer:10}{found.most:>15,} B{more:>10,}"
        f"  {ledger.peak_at(batch, workspace=False).row.phase:9} {unequal or 'roles equal'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(USUAL))
    parser.add_argument("--batches", default="2,3,6")
    parser.add_argument("--optimizers", default="sgd,momentum,adam")
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.models.split(","):
        for optimizer in given.optimizers.split(","):
            for batch in map(int, given.batches.split(",")):
                print(line(name, batch, optimizer, given.small), flush=True)


if __name__ == "__main__":
    main()
