"""Today's criteria as settings: every weight, the seeding inside groups and the floats between them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field as Setting
from pydantic import model_validator

from enginetour.formats.gotha import Gotha, GothaOptions, Scene
from enginetour.formats.pairing import floats, kinship, order, present
from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.floats import Position, Rule, Suited
from enginetour.formats.pairing.present import Criterion
from enginetour.formats.pairing.seeding import Seeding, seeding

Weight = Annotated[int, Setting(ge=0, le=10**14)]  # seven of them fit the matching's machine words


class CriteriaOptions(GothaOptions):
    """Settings of the systems by today's criteria; defaults as OpenGotha 3.51 where nothing else is said."""

    score_weight: Weight = Setting(default=10**11, description="weight of near score groups; concave in the difference")
    half_groups: bool = Setting(
        default=False, description="whether half a win makes a group of its own; Gotha joins 2 and 2 1/2"
    )
    float_weight: Weight = Setting(default=2 * 10**7, description="unit of floats: a float that repeats none has two")
    compensate: bool = Setting(default=True, description="whether floats undo earlier ones")
    float_rule: Rule = Setting(
        default="position",
        description="who floats. position: by float_down and float_up; sos-even: highest SOS down, lowest up; "
        "godraw: lost last round down, floated down and won up; information: most wins up, to one 100-300 points above "
        "the strongest beaten; compensate: whom it evens out; fide: bottom down, top up, two rounds remembered",
    )
    float_down: Position = Setting(default="middle", description="with position: where in its group a float down is")
    float_up: Position = Setting(default="middle", description="with position: where in its group a float up is")
    seeding_weight: Weight = Setting(default=5 * 10**6, description="weight of the seeding inside a group")
    seeding: Seeding = Setting(default="slip", description="ideal pairs in a group, in the first rounds")
    seeding_later: Seeding = Setting(default="slip", description="ideal pairs in a group, after seeding_rounds")
    seeding_rounds: int = Setting(default=2, ge=0, le=1000, description="rounds paired by seeding")
    colour_weight: Weight = Setting(default=10**6, description="weight of opposite colour balances; off with both")
    family_weight: Weight = Setting(default=0, description="weight of families and origins that differ; 0: none")
    family_worth: float = Setting(
        default=3.0, ge=0, le=100, description="groups of score difference that a strange family is worth"
    )
    origin_worth: float = Setting(
        default=1.0, ge=0, le=100, description="groups of score difference that a strange origin is worth"
    )
    families: list[list[str]] = Setting(
        default=[], description="groups of families that are half related, as [[A, B], [C, D]]"
    )

    @model_validator(mode="after")
    def _used(self) -> CriteriaOptions:
        if self.float_rule != "position" and (self.float_down, self.float_up) != ("middle", "middle"):
            raise ValueError(f'float_down and float_up need float_rule = "position", here it is {self.float_rule}')
        if self.families and not self.family_weight:
            raise ValueError("families says who is half related, which weighs nothing: set family_weight above 0")
        return self


class ByCriteria(Gotha):
    """Today's function; a subclass adds what its kind of groups needs."""

    sos_code = "SOSW"  # tells `sos-even` who had strong opponents

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.memory = floats.MEMORY.get(options.float_rule)
        self.evens_sos = options.float_rule == "sos-even"

    def criteria(self, scene: Scene) -> tuple[Criterion, ...]:
        """In the order of their weights as a rule, lowest first."""
        options, lineup = self.options, scene.lineup
        found = [present.base(), present.not_met(scene.met)]
        if options.random:
            found.append(present.random(lineup, scene.chance, options.random))
        if options.games_per_pairing == 1:
            found.append(present.colours(lineup, scene.stones, options.colour_weight))
        kind = options.seeding if scene.field.number <= options.seeding_rounds else options.seeding_later
        found += [
            seeding(lineup, kind, scene.chance, options.seeding_weight),
            floats.floats(lineup, self._suited(scene), options.float_weight, compensate=options.compensate),
            present.score(lineup, options.score_weight),
        ]
        if options.family_weight:
            found.append(
                kinship.kinship(
                    scene.field,
                    lineup,
                    options.family_weight,
                    family_worth=options.family_worth,
                    origin_worth=options.origin_worth,
                    groups=options.families,
                )
            )
        return tuple(found)

    def _suited(self, scene: Scene) -> Suited:
        options, lineup = self.options, scene.lineup
        unit: int = options.float_weight
        if options.float_rule == "position":
            return floats.by_position(lineup, options.float_down, options.float_up, unit)
        sos = self._sos(scene) if options.float_rule == "sos-even" else ()
        return floats.by_rule(scene.field, lineup, options.float_rule, sos, unit)

    def _sos(self, scene: Scene) -> list[int]:
        code = self.sos_code
        values = order.values(scene.field, (code,), scene.ground.terms)[code]
        return [values[at] for at in scene.lineup.member.tolist()]

    def first_rounds(self, field: Field) -> bool:
        """Whether the round is paired by the first of the two seedings."""
        return field.number <= int(self.options.seeding_rounds)
