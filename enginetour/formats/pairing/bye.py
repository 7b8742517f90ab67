"""Whose score the bye of an odd field goes to, before any bracket is paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enginetour.formats.pairing.faces import Face
from enginetour.formats.pairing.preparation import Card


@dataclass(frozen=True, slots=True)
class Bye:
    """Its taker has `score`; `here`: it comes out of the bracket to be paired now."""

    score: int
    here: bool


def placed(face: Face, cards: Sequence[Card]) -> tuple[Face, Bye | None]:
    """The rounds whose bye goes to the lowest score that it can; cards in order, the bye is the last vertex."""
    if len(cards) % 2 == 0:
        return face, None
    scores = np.array([card.score for card in cards])
    digit = np.zeros(face.allowed.shape, dtype=np.int64)
    digit[-1, :-1] = digit[:-1, -1] = -scores
    face = face.best([digit])
    score = cards[face.mates[-1]].score
    top = int((scores == scores[0]).sum())
    if score < scores[0]:
        return face, Bye(score, here=False)
    inside = np.zeros(face.allowed.shape, dtype=np.int64)
    inside[:top, :top] = 1
    mates = face.best([inside]).mates
    return face, Bye(score, here=all(mate < top or mate == len(cards) for mate in mates[:top]))
