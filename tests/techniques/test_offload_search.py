"""Which maps go: vDNN's order by hand, the best set against all, and never worse than either."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import memlab
from memlab import InputError
from memlab.clocks import roofline
from memlab.networks.graph import Network
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.techniques.offload import choose, offload, rules
from memlab.techniques.offload import search as searches
from memlab.techniques.offload.cost import Costs, Terms, computed, terms
from memlab.techniques.offload.rules import NEEDED, PREFETCH, VDNN, candidates
from memlab.techniques.offload.search import ORDER, OffloadChoice, static
from tests.drawn import examples
from tests.networks_at_random import networks
from tests.quick import apart
from tests.runtime.test_run import SMALLEST
from tests.techniques.same import differences, ran
from tests.techniques.test_offload import chain, small
from tests.techniques.test_pairs import ways

RECORDED = roofline.by(roofline.machine("recorded"))
CARD, LINK, BATCH = "titan x", "1 GB/s", 32
"""A fast machine and a slow link, so that copies are seen."""


def search(step: Step, policy: str, budget: int | str, **given: object) -> OffloadChoice:
    asked = {"batch": BATCH, "device": CARD, "link": LINK} | given
    return choose(step, policy, budget=budget, **asked)  # type: ignore[arg-type]  # options by name


def at(step: Step, algorithms: str = "p", in_place: bool = False, prefetch: str = VDNN) -> Terms:
    return terms(step, BATCH, CARD, LINK, in_place, algorithms, prefetch)


def between(costs: Costs, share: float) -> int:
    """A budget between what vDNN needs at least and what the step takes with nothing moved."""
    least = costs.of(static(costs)["all"], 0, "smallest").peak
    most = costs.of((), 0, "fastest").peak
    return round(least + share * max(0, most - least))


def subsets(names: Iterable[str]) -> list[tuple[str, ...]]:
    every = sorted(names)
    return [maps for size in range(len(every) + 1) for maps in combinations(every, size)]


# -- what a set costs ---------------------------------------------------------------------------


@given(networks(8), st.data())
@examples(40)
def test_a_set_costs_what_its_step_does(net: Network, data: st.DataObject) -> None:
    again = data.draw(st.sampled_from(["", "drop", "cheap", "chain"]))
    plain = memlab.training_step(net, "sgd")
    step = ways(BATCH)[again](plain) if again else plain
    prefetch = data.draw(st.sampled_from(PREFETCH))
    in_place = data.draw(st.booleans())
    one = at(step, data.draw(st.sampled_from("mp")), in_place, prefetch)
    costs = Costs(step, one)
    names = {name for name in costs.sizes if data.draw(st.booleans())}
    level = data.draw(st.sampled_from(["fits", "fastest", "smallest"]))
    budget = between(costs, data.draw(st.floats(0, 1)))
    cost = costs.of(names, budget, level)
    algorithms = computed(step, cost.picks, costs.fastest, one)
    moved = rules.moved(algorithms, cost.moves, "maps") if names else algorithms
    if names:
        assert moved.ops == offload(algorithms, maps=names, prefetch=prefetch).ops
    after = memlab.in_place(moved) if in_place else moved
    ledger, schedule = memlab.plan(after), memlab.clock(after, BATCH, CARD, LINK)
    assert ledger.peak(BATCH) == cost.peak
    assert ledger.peak(BATCH, HOST) == sum(costs.sizes[name] for name in names)
    assert schedule.seconds == cost.seconds
    if not cost.over:
        assert costs.bound(budget) <= cost.seconds * (1 + 1e-12)


# -- vDNN's dynamic policy ----------------------------------------------------------------------


def test_vgg_16_fits_12_gb_by_687_036_bytes_under_sgd_and_not_with_momentum() -> None:
    """C4, with the convolutions that take no workspace."""
    given = {"batch": 256, "budget": "12 GB", "device": CARD, "link": "12 GB/s", "in_place": True}
    net = memlab.zoo.vgg16()
    step = memlab.offload(memlab.training_step(net, "sgd"), "dynamic", **given)  # type: ignore[arg-type]  # options by name
    peak = memlab.plan(memlab.in_place(step)).peak(256)
    assert 12 * 10**9 - peak == 687_036
    assert "offload (dynamic: conv)" in step.notes
    assert step.batches == range(256, 257)
    with pytest.raises(InputError, match="the least that this policy takes is 12,552,"):
        memlab.offload(memlab.training_step(net, "momentum"), "dynamic", **given)  # type: ignore[arg-type]  # options by name


def wide() -> Network:
    """Convolutions whose fastest ways on the processor take much workspace."""
    x = memlab.network("wide", image=(8, 20, 20)).conv(16, 3, pad=1).relu()
    x = x.conv(16, 3, pad=1).relu().max_pool(2, 2).conv(32, 3, pad=1).relu()
    return x.max_pool(2, 2).flatten().linear(2).cross_entropy()


def pools() -> Network:
    """The same, with large maps that no convolution reads."""
    x = memlab.network("pools", image=(8, 20, 20))
    for _ in range(3):
        x = x.conv(16, 3, pad=1).relu().max_pool(3, 1, pad=1).local_response_norm()
    return x.max_pool(2, 2).flatten().linear(2).cross_entropy()


P_AND_M = [("none", "p"), ("conv", "p"), ("all", "p"), ("conv", "m"), ("all", "m")]


def test_figures_of_another_machine_change_no_algorithm() -> None:
    step = memlab.training_step(wide(), "sgd")
    here = offload(step, "conv", algorithms="p", batch=8)
    assert {op.algorithm for op in here.ops} == {op.algorithm for op in step.ops} | {""}
    assert here.notes[0] == f"convolutions as they were: {RECORDED} are of another machine"
    there = offload(step, "conv", algorithms="p", batch=8, device="recorded")
    assert {op.algorithm for op in there.ops} - {op.algorithm for op in step.ops}
    assert there.notes[0] == f"fastest convolutions by {RECORDED}"


@pytest.mark.parametrize(
    ("net", "at", "chosen"),
    [(wide(), 8, {P_AND_M[0], P_AND_M[3]}), (pools(), 2, {*P_AND_M} - {P_AND_M[3]})],
)
def test_the_dynamic_policy_takes_the_first_that_fits(
    net: Network, at: int, chosen: set[tuple[str, str]]
) -> None:
    """At budgets around the peaks of all configurations, each by its own plan. A downgrade of some
    convolutions fits where one of all does."""
    step = memlab.training_step(net, "sgd")
    ready = {
        each: offload(step, each[0], algorithms=each[1], batch=at, device="recorded")
        for each in P_AND_M
    }
    peaks = {each: memlab.plan(made).peak(at) for each, made in ready.items()}
    seen = set()
    for budget in sorted({peak + more for peak in peaks.values() for more in (-1, 0)})[1:]:
        found = choose(step, "dynamic", batch=at, budget=budget, device="recorded", link=LINK)
        first = next(each for each in P_AND_M if peaks[each] <= budget)
        assert found.step.notes[-1] == f"offload (dynamic: {first[0]}, by {RECORDED})"
        used = [op.algorithm for op in found.step.ops]
        fastest = used == [op.algorithm for op in ready[first[0], "p"].ops]
        assert fastest == (first[1] == "p")
        assert found.peak <= budget
        seen.add(first)
    assert seen == chosen
    assert [each[0] for each in ORDER] == ["none", "conv", "all", "conv", "all", "conv", "all"]


def test_a_downgrade_takes_the_speed_of_no_other_convolution() -> None:
    """One convolution gives up its workspace, the others keep theirs."""
    step = memlab.training_step(wide(), "sgd")
    costs = Costs(step, terms(step, 1, "recorded", LINK))
    most = costs.of((), 0, "fastest")
    found = costs.of((), most.peak - 1)
    changed = [n for n, way in enumerate(found.picks) if way is not costs.fastest[n]]
    assert changed == [most.at]
    assert not found.over


# -- the best set -------------------------------------------------------------------------------


@given(networks(6), st.floats(0, 1), st.booleans())
@examples(20)
def test_best_is_the_best_of_all_steps(net: Network, share: float, in_place: bool) -> None:
    step = memlab.training_step(net, "sgd", algorithm="implicit-gemm")
    names = [*candidates(step)]
    assume(0 < len(names) <= 5)
    budget = between(Costs(step, at(step, "m", in_place)), share)
    seconds = []
    for maps in subsets(names):
        moved = offload(step, maps=maps) if maps else step
        after = memlab.in_place(moved) if in_place else moved
        if memlab.plan(after).peak(BATCH) <= budget:
            seconds.append(memlab.clock(after, BATCH, CARD, LINK).seconds)
    found = search(step, "best", budget, in_place=in_place, algorithms="m")
    assert found.exact
    assert found.seconds == min(seconds)
    assert found.peak <= budget


@given(networks(14), st.floats(0, 1), st.sampled_from("mp"))
@examples(30)
def test_best_is_never_worse_than_dynamic(net: Network, share: float, kind: str) -> None:
    """Also where not all sets are tried."""
    step = memlab.training_step(net, "momentum")
    budget = between(Costs(step, at(step, kind)), share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "EXACT", 4)
        dynamic = search(step, "dynamic", budget, algorithms=kind)
        best = search(step, "best", budget, algorithms=kind)
    assert best.seconds <= dynamic.seconds
    assert best.peak <= budget
    assert best.bound <= best.seconds * (1 + 1e-12)


LONG = {"googlenet_bn", "resnet50"}
CONVOLVED = [name for name in SMALLEST if name not in ("rnn", "lstm")]


@pytest.mark.parametrize("name", apart(CONVOLVED, LONG.__contains__))
def test_best_is_never_worse_than_dynamic_in_the_zoo(name: str) -> None:
    step = memlab.training_step(small(name), "sgd")
    budget = between(Costs(step, at(step, in_place=True)), 1 / 3)
    dynamic = search(step, "dynamic", budget, in_place=True)
    best = search(step, "best", budget, in_place=True)
    assert best.seconds <= dynamic.seconds
    assert max(best.peak, dynamic.peak) <= budget


# -- when maps come back ------------------------------------------------------------------------


def test_vgg_16_takes_10_97_gb_where_each_map_comes_back_when_it_is_needed() -> None:
    step = memlab.training_step(memlab.zoo.vgg16(), "sgd", algorithm="implicit-gemm")
    plain = memlab.clock(memlab.in_place(step), 256, CARD, "12 GB/s").seconds
    after = memlab.in_place(offload(step, "conv", prefetch="needed"))
    assert memlab.plan(after).peak(256) == 10_971_856_196
    late = memlab.clock(after, 256, CARD, "12 GB/s").seconds
    assert late / plain == pytest.approx(1.235, abs=0.001)
    given = {"batch": 256, "link": "12 GB/s", "in_place": True, "algorithms": "m"}
    with pytest.raises(InputError, match="the least that was found is 11,999,312,964 B"):
        search(step, "best", "11 GB", **given)


@pytest.mark.measures
def test_a_map_that_comes_back_late_makes_the_same_bits() -> None:
    plain = memlab.training_step(pools(), "sgd", algorithm="direct")
    costs = Costs(plain, terms(plain, 4, "recorded", LINK, True, "m", NEEDED))
    least = costs.of(static(costs)["all"], 0).peak
    given = {"batch": 4, "device": "recorded", "link": LINK, "prefetch": NEEDED}
    found = choose(plain, "best", budget=least, in_place=True, algorithms="m", **given)  # type: ignore[arg-type]  # options by name
    assert len(found.maps) > 2
    for placed in ("best", None):
        assert not differences(ran(plain, 4), ran(memlab.in_place(found.step), 4, placement=placed))


# -- what is said -------------------------------------------------------------------------------


def test_a_choice_says_what_it_came_to() -> None:
    step = memlab.training_step(memlab.zoo.vgg16(), "sgd")
    found = choose(step, "best", batch=256, budget="12 GB", device=CARD, link="12 GB/s",
                   in_place=True, algorithms="m")  # fmt: skip
    after = memlab.in_place(found.step)
    assert found.peak == memlab.plan(after).peak(256)
    assert found.host == memlab.plan(after).peak(256, HOST)
    assert found.bound == pytest.approx(memlab.clock(after, 256, CARD, "12 GB/s").busy())
    assert found.distance == found.seconds / found.bound - 1
    assert found.as_dict()["maps"] == [*found.maps]
    assert f"{found.peak:,} B of 12,000,000,000 B on the device" in found.text()
    assert f"{100 * found.distance:.3g} % longer" in found.text()


def test_bad_input_is_one_sentence() -> None:
    step = chain()
    given = {"batch": 4, "budget": "1 MB", "link": LINK}
    for wrong, message in (
        ({"batch": None}, "'dynamic' needs a batch; try memlab.offload"),
        ({"budget": None}, "'dynamic' needs a budget; try memlab.offload"),
        ({"link": 0}, "nothing moves over a link of 0"),
        ({"link": None}, "no source gives the link of .*recorded on .*; try"),
        ({"link": None, "device": CARD}, "no source gives the link of titan x; try"),
        ({"budget": 9}, r"into 9 B with all maps .* takes is [\d,]+ B; try that budget"),
        ({"budget": "some"}, "'some' is no amount of memory"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"in_place": 1}, "in_place must be True or False"),
        ({"algorithms": "q"}, "unknown kind of algorithms 'q'"),
    ):
        with pytest.raises(InputError, match=message):
            offload(step, "dynamic", **{**given, **wrong})  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InputError, match=r"no choice of maps .* into 9 B; the least"):
        offload(step, "best", batch=4, budget=9, link=LINK)
    with pytest.raises(InputError, match="unknown prefetch 'late'"):
        offload(step, "conv", prefetch="late")
    with pytest.raises(InputError, match="takes budget for a search, not for 'conv'"):
        offload(step, "conv", budget="1 MB")
    with pytest.raises(InputError, match="the fastest algorithms are those of a batch"):
        offload(step, "conv", algorithms="p")
    with pytest.raises(InputError, match="this step holds for batch 4 to 4, got 5"):
        offload(memlab.lowering(step, batch=4), "best", **{**given, "batch": 5})  # type: ignore[arg-type]  # wrong on purpose


def test_a_minimum_that_is_named_is_enough() -> None:
    """The budget of the message works, and one byte less does not."""
    step = chain()
    for policy in ("dynamic", "best"):
        with pytest.raises(InputError) as error:
            choose(step, policy, batch=4, budget=9, link=LINK)
        least = int(str(error.value).split(" is ")[1].split(" B")[0].replace(",", ""))
        assert choose(step, policy, batch=4, budget=least, link=LINK).peak == least
        with pytest.raises(InputError):
            choose(step, policy, batch=4, budget=least - 1, link=LINK)
