"""A second, simple and slow implementation of the bubble, written from the rules without code of the first.

`misread` selects a likely misreading of the rules, so that tests can show that they would find it.
"""

from __future__ import annotations

from typing import Any

MISREADINGS = (
    "unpark at the threshold too",
    "matches inside the round robin only",
    "queue order of the first parking",
    "longest parked before fewest met",
    "no parking at the end",
    "no direct encounter",
    "direct encounter among those tied on points",
    "list place upside down",
    "withdrawal at the end of the round robin",
    "leaver among the remaining",
    "games counted for matches",
)
POINTS = {"1": 1.0, "=": 0.5, "0": 0.0}  # sums and products of them are exact
TOO_LONG = 5000  # decisions, which only an endless misreading reaches


class Oracle:
    def __init__(self, case: dict[str, Any], misread: str = "") -> None:
        self.misread = misread
        self.names: list[str] = case["ranking"]
        self.size: int = case["params"]["size"]
        self.minimum: int = case["params"]["min_matches"]
        self.threshold: int = case["params"]["unpark_threshold"]
        self.games: int = case["params"]["games_per_pairing"]
        self.results: list[list[str]] = case["results"]
        self.due = list(case.get("withdrawals", []))
        self.old = list(self.names)
        self.section: list[str] = []
        self.parked: list[str] = []
        self.new: list[str] = []
        self.withdrawn: list[str] = []
        self.history: list[tuple[str, str, int, str]] = []
        self.scores: dict[tuple[str, str], list[float]] = {}
        self.todo: list[tuple[str, str, int]] = []
        self.first_parked: list[str] = []
        self.steps: list[dict[str, Any]] = []

    # Counting

    def points(self, a: str, b: str) -> list[float]:
        return self.scores.get((a, b), [])

    def scored(self, a: str, b: str) -> float:
        return sum(self.points(a, b))

    def has_met(self, a: str, b: str) -> bool:
        return len(self.points(a, b)) == self.games

    def match_count(self, a: str) -> int:
        others = self.section if self.misread == "matches inside the round robin only" else self.names
        met = sum(self.has_met(a, b) for b in others if b != a)
        return met * self.games if self.misread == "games counted for matches" else met

    def index(self, name: str) -> int:
        return self.names.index(name)

    def table(self) -> list[tuple[str, float, float]]:
        members = self.section
        score = {a: sum(self.scored(a, b) for b in members if b != a) for a in members}
        sb = {a: sum(self.scored(a, b) * score[b] for b in members if b != a) for a in members}

        def direct(a: str) -> float:
            if self.misread == "no direct encounter":
                return 0.0
            tied = [b for b in members if b != a and score[b] == score[a]]
            if self.misread != "direct encounter among those tied on points":
                tied = [b for b in tied if sb[b] == sb[a]]
            return sum(self.scored(a, b) for b in tied)

        up = -1 if self.misread == "list place upside down" else 1
        order = sorted(members, key=lambda a: (score[a], sb[a], direct(a), up * self.index(a)), reverse=True)
        return [(a, score[a], sb[a]) for a in order]

    # Entering

    def choose(self, remaining: list[str], leaver: str | None) -> tuple[str, str, int] | None:
        rest = [*remaining, leaver] if leaver and self.misread == "leaver among the remaining" else remaining
        met = {name: sum(self.has_met(name, other) for other in rest) for name in self.parked}
        if self.old:
            limit = self.threshold + (self.misread == "unpark at the threshold too")
            for name in self.parked:
                if met[name] < limit:
                    return name, "parked", 4
            return self.old[0], "list", 5
        if self.parked:
            by = [(met[name], place) for place, name in enumerate(self.parked)]
            if self.misread == "longest parked before fewest met":
                return self.parked[0], "parked", 8
            return self.parked[min(by)[1]], "parked", 8
        return None

    def enter(self, name: str, origin: str, rule: int) -> dict[str, Any]:
        (self.parked if origin == "parked" else self.old).remove(name)
        met = [other for other in self.section if self.has_met(name, other)]
        unmet = sorted((other for other in self.section if other not in met), key=self.index)
        for other in unmet:
            self.schedule(name, other)
        self.section.append(name)
        return {"engine": name, "from": origin, "rule": rule, "met": len(met), "to_play": len(unmet)}

    def schedule(self, a: str, b: str) -> None:
        low, high = sorted([a, b], key=self.index)

        def whites(name: str) -> int:
            booked = [(w, b) for w, b, _, _ in self.history] + [(w, b) for w, b, _ in self.todo]
            return sum(w == name for w, _ in booked) - sum(b == name for _, b in booked)

        if self.games == 1 and whites(high) < whites(low):
            low, high = high, low
        for number in range(1, self.games + 1):
            self.todo.append((low, high, number) if number % 2 else (high, low, number))

    # An edition

    def run(self) -> dict[str, Any]:
        self.begin_step([])
        self.due_withdrawals()
        first = self.old[: self.size]
        self.old = self.old[self.size :]
        self.section = list(first)
        circle: list[str | None] = list(first) + [None] * (len(first) % 2)
        for _ in range(len(circle) - 1):
            for i in range(len(circle) // 2):
                one, two = circle[i], circle[len(circle) - 1 - i]
                if one is not None and two is not None:
                    self.schedule(one, two)
            circle = [circle[0], circle[-1], *circle[1:-1]]
        self.steps[-1]["entered"] = [
            {"engine": name, "from": "start", "rule": 1, "met": 0, "to_play": len(first) - 1} for name in first
        ]
        while len(self.steps) < TOO_LONG:
            self.due_withdrawals()
            if self.todo:
                self.play(*self.todo.pop(0))
            elif self.decide():
                break
        return {
            "format": "enginetour-bubble-trace/1",
            "steps": self.steps,
            "ranking": self.new,
            "withdrawn": self.withdrawn,
            "games_total": len(self.history),
        }

    def begin_step(self, entered: list[dict[str, Any]]) -> None:
        self.steps.append({"step": len(self.steps) + 1, "entered": entered, "withdrawals": [], "games": []})

    def play(self, white: str, black: str, number: int) -> None:
        sign = self.results[number - 1][self.index(white)][self.index(black)]
        result = {"1": "1-0", "=": "1/2-1/2", "0": "0-1"}[sign]
        self.history.append((white, black, number, result))
        self.scores.setdefault((white, black), []).append(POINTS[sign])
        self.scores.setdefault((black, white), []).append(1 - POINTS[sign])
        self.steps[-1]["games"].append([white, black, number, result])

    def due_withdrawals(self) -> None:
        if self.misread == "withdrawal at the end of the round robin" and self.todo:
            return
        for due in [due for due in self.due if due["after_games"] <= len(self.history)]:
            self.due.remove(due)
            name, replacement = due["engine"], None
            if name in self.new:
                was = "ranked"
            else:
                self.withdrawn.append(name)
                if name in self.old:
                    was = "listed"
                    self.old.remove(name)
                elif name in self.parked:
                    was = "parked"
                    self.parked.remove(name)
                else:
                    was = "active"
                    self.section.remove(name)
                    self.todo = [game for game in self.todo if name not in game]
                    chosen = self.choose(self.section, None)
                    if chosen:
                        replacement = self.enter(*chosen)
            self.steps[-1]["withdrawals"].append(
                {"engine": name, "after_games": due["after_games"], "was": was, "replacement": replacement}
            )

    def decide(self) -> bool:
        """Make the next decision; return whether the edition has ended."""
        step, table = self.steps[-1], self.table()
        step["active"] = sorted(self.section, key=self.index)
        step["table"] = [[name, float(score), float(sb)] for name, score, sb in table]
        order = [name for name, _, _ in table]
        step["games_total"] = len(self.history)
        if not self.old and not self.parked:
            self.new += reversed(order)
            champion = order[0] if order else None
            step["decision"] = {"action": "finish", "engine": champion, "reason": "list_and_parking_empty"}
            step["parked"] = []
            return True
        top, last, count = order[0], order[-1], self.match_count(order[-1])
        if count >= self.minimum:
            action, leaver, reason = "drop", last, "last_has_min_matches"
        elif not self.old and (self.misread == "no parking at the end" or self.brings_nothing_new(top)):
            action, leaver, reason = "drop", last, "last_has_met_all_left"
        else:
            action, leaver, reason = "park", top, "last_below_min_matches"
        self.section.remove(leaver)
        chosen = self.choose(self.section, leaver)
        if action == "drop":
            self.new.append(leaver)
        else:
            self.parked.append(leaver)
            if leaver not in self.first_parked:
                self.first_parked.append(leaver)
            if self.misread == "queue order of the first parking":
                self.parked.sort(key=self.first_parked.index)
        step["decision"] = {
            "action": action,
            "engine": leaver,
            "reason": reason,
            "last": last,
            "last_matches": count,
        }
        assert chosen is not None
        self.begin_step([self.enter(*chosen)])
        step["parked"] = list(self.parked)
        return False

    def brings_nothing_new(self, top: str) -> bool:
        left = [name for name in self.section if name != top]
        chosen = self.choose(left, top)
        assert chosen is not None
        return all(self.has_met(chosen[0], other) for other in left)


def oracle_trace(case: dict[str, Any], misread: str = "") -> dict[str, Any]:
    """Return the trace of the simple implementation, or of a misreading of the rules."""
    return Oracle(case, misread).run()
