"""Our statements: a recursive descent over sqlglot's tokens, one method per statement or clause.

Expressions are left to sqlglot (`condition`, `_operand`); everything around them is ours, so that
"expected … found …" can name exactly what may stand at a place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

from sqlglot import Token, TokenType, exp

from watchline.model import UNIT_MICROSECONDS
from watchline.names import keyword, listing
from watchline.sql.lengths import LENGTHS, SPEEDS, UNITS, meant_speed
from watchline.sql.syntax import (
    DropSyntax,
    ExplainSyntax,
    InsidePredicate,
    InsideSyntax,
    Interval,
    KnnSyntax,
    Measure,
    Place,
    QuerySyntax,
    ShowSyntax,
    SourceSyntax,
    StreamSyntax,
    Syntax,
    Word,
)

MAX_INTERVAL = 2**62
# Words that begin what may follow a stream in FROM: none of them is its alias without AS.
_AFTER_SOURCE = "WHERE INSIDE KNN FOR UNTIL ACCURACY EMIT CROSS JOIN INNER ON".split()
# Words after which INSIDE is a condition; after a complete condition it is a clause.
_BEFORE_CONDITION = ("WHERE", "ON", "AND", "OR", "NOT", "(")
_SHAPES = ("CIRCLE", "POLYGON", "CORRIDOR")
_IN_CONDITION = "; with AND, OR and NOT, INSIDE stands in the condition: WHERE … AND NOT INSIDE (…)"
_INSTEAD = {
    "OUTSIDE": "; write NOT INSIDE, in the condition after WHERE",
    "KNN": "; kNN is a clause: it stands once, after the condition, without AND, OR or NOT",
}

# Words that may follow a number and are no units.
_AFTER_NUMBER = frozenset(
    "OBJECT TIME POINT TIMEOUT MAX SPEED AHEAD RETAIN CACHE OBJECTS BYTES SHED WHERE INSIDE KNN FOR"
    " UNTIL ACCURACY EMIT PROPERTIES CROSS JOIN INNER ON AND OR NOT AS".split()
)


class Grammar:
    """Our grammar over the parser's tokens: one method per statement or clause."""

    def __init__(self, parser: Any):
        self.p = parser
        self.text: str = parser.sql

    def _expected(self, what: str, remark: str = "") -> NoReturn:
        self.p.expected(what, remark)
        raise AssertionError("the parser refuses")

    # --- statements

    def statement(self) -> Syntax:
        first = self.p._curr
        kinds: dict[str, Callable[[Token], Syntax]] = {
            "CREATE": self._create,
            "DROP": self._drop,
            "SHOW": self._show,
            "EXPLAIN": self._explain,
        }
        for word, rule in kinds.items():
            if self._take(word):
                return rule(first)
        self._expected(listing(kinds))

    def _create(self, first: Token) -> Syntax:
        replace = self._take("OR", "REPLACE")
        if self._take("QUERY"):
            return self._create_query(first, replace)
        if not replace and self._take("STREAM"):
            return self._create_stream(first)
        self._expected("QUERY" if replace else "STREAM, QUERY or OR REPLACE QUERY")

    def _drop(self, first: Token) -> DropSyntax:
        kind = self._one_of("QUERY", "STREAM")
        if_exists = self._take("IF", "EXISTS")
        return DropSyntax(kind, self._name("an id"), self._since(first), if_exists)

    def _show(self, first: Token) -> ShowSyntax:
        show = ShowSyntax(self._one_of("QUERIES", "STREAMS"), self._since(first))
        if show.kind == "QUERIES" and self._take("WHERE"):
            show.condition = self.condition()
            show.place = self._since(first)
        return show

    def _explain(self, first: Token) -> ExplainSyntax:
        self._require("QUERY")
        return ExplainSyntax(self._name("a query id"), self._since(first))

    # --- CREATE STREAM

    def _create_stream(self, first: Token) -> StreamSyntax:
        if_not_exists = self._take("IF", "NOT", "EXISTS")
        stream = StreamSyntax(self._name("a stream name"), self._since(first), if_not_exists)
        stream.columns = self._list(lambda: (self._name("an attribute name"), self._type()))
        clauses: dict[str, Callable[[], Any]] = {
            "OBJECT": lambda: self._name("the attribute that names the object"),
            "TIME": lambda: self._name("the attribute that holds the time"),
            "POINT": lambda: self._point(stream),
            "TIMEOUT": self._interval,
            "MAX SPEED": lambda: self._measure("a speed", SPEEDS),
            "MAX AHEAD": self._ahead,
            "RETAIN": lambda: self._word("ALL", "SIGNIFICANT"),
            "CACHE": self._number,
            "MAX OBJECTS": self._number,
            "MAX BYTES": self._number,
            "SHED": lambda: self._word("OBJECTS", "QUERIES"),
        }
        self._clauses(stream, clauses)
        stream.place = self._since(first)
        return stream

    def _ahead(self) -> Interval | Word:
        return self._word("UNLIMITED") if self._at("UNLIMITED") else self._interval("or UNLIMITED")

    def _type(self) -> Word:
        """A type's name, with what stands in parentheses behind it: `DECIMAL(3, 2)`."""
        first = self.p._curr
        name = self._name("a type such as DOUBLE")
        if not self._at("("):
            return name
        self._list(lambda: self._operand("a number"))
        place = self._since(first)
        return Word(self.text[place.start : place.end], place)

    def _point(self, stream: StreamSyntax) -> tuple[Word, Word]:
        here = self.p._curr
        names = self._list(lambda: self._name("an attribute name"))
        if len(names) != 2:
            self._since(here).refuse(f"POINT takes two attributes, not {len(names)}")
        if self._take("AS"):
            if not self._take("GEOGRAPHY"):
                word = self.p._curr
                self._expected("GEOGRAPHY", keyword(word.text, ["GEOGRAPHY"]) if word else "")
            stream.geography = True
        return names[0], names[1]

    # --- CREATE QUERY

    def _create_query(self, first: Token, replace: bool) -> QuerySyntax:
        query = QuerySyntax(self._name("a query id"), self._since(first), replace)
        if any(self._at(mark) for mark in ("-", ".", ":", "/")):
            self._expected("AS", '; an id that is no plain word stands in quotes: "cab-17"')
        self._require("AS")
        self._require("SELECT")
        query.select = self._select_list()
        self._require("FROM")
        self._sources(query)
        clauses: dict[str, Callable[[], Any]] = {
            "INSIDE": self._inside,
            "kNN": self._knn,
            "FOR": self._interval,
            "UNTIL": self._moment,
            "ACCURACY": self._number,
            "EMIT": lambda: self._word("MATCHES", "CHANGES"),
            "PROPERTIES": lambda: self._string("a JSON object in quotes"),
        }
        if self._take("WHERE"):
            query.conditions.append(self.condition())
        elif self._at_name() and not any(self._at(word.upper()) for word in clauses):
            self._refuse_word(["WHERE", *clauses], otherwise=self._about_source())
        self._clauses(query, clauses, FOR="lifetime")
        query.place = self._since(first)
        return query

    def _select_list(self) -> list[exp.Expr] | None:
        if self._take("*"):
            return None
        columns = [self._operand("* or an attribute")]
        while self._take(","):
            columns.append(self._operand("an attribute"))
        return columns

    def _sources(self, query: QuerySyntax) -> None:
        query.sources.append(self._source())
        while True:
            if self._take(","):
                query.sources.append(self._source())
            elif self._take("CROSS", "JOIN"):
                query.cross = True
                query.sources.append(self._source())
            elif self._take("JOIN") or self._take("INNER", "JOIN"):
                query.sources.append(self._source())
                self._require("ON")
                query.conditions.append(self.condition())
            else:
                return

    def _source(self) -> SourceSyntax:
        first = self.p._curr
        stream = self._name("a stream name")
        source = SourceSyntax(stream, stream)
        for _ in range(2):  # the window may stand before or after the alias
            if self._at("[") and not (source.range or source.rows):
                self._window(source)
            elif source.alias is stream and (self._take("AS") or self._at_alias()):
                source.alias = self._name("an alias")
        source.place = self._since(first)
        return source

    def _at_alias(self) -> bool:
        """Whether an alias without AS comes next: some attribute of the statement carries it.

        A word that nothing refers to is more likely a misspelt clause than an alias.
        """
        token = self.p._curr
        return (
            self._at_name()
            and not any(self._at(word) for word in _AFTER_SOURCE)
            and token.text in self._qualifiers
        )

    def _about_source(self) -> str:
        """What a word after a stream in FROM may have been meant as."""
        if any(self._at(word) for word in ("LEFT", "RIGHT", "FULL", "NATURAL", "SEMI", "ANTI")):
            return "; a join is JOIN … ON or CROSS JOIN"
        word = self.p._curr.text
        for other in sorted(self._qualifiers):
            if other.casefold() == word.casefold():
                return f"; attributes carry {other!r}: write the alias in the same case"
        return "; an alias that no attribute carries is written with AS"

    @cached_property
    def _qualifiers(self) -> frozenset[str]:
        """The words of the statement that stand before a dot."""
        return frozenset(
            word.text
            for word, dot in pairwise(self.p._tokens)
            if dot.token_type is TokenType.DOT and word.token_type is not TokenType.STRING
        )

    def _window(self, source: SourceSyntax) -> None:
        self._require("[")
        if self._one_of("RANGE", "ROWS") == "RANGE":
            source.range = self._length()
        else:
            source.rows = self._number()
        self._require("]")

    def _inside(self) -> InsideSyntax:
        first = self.p._prev
        if self._take("POLYGON"):
            polygon = self._string("a polygon in quotes, as WKT or GeoJSON")
            return InsideSyntax("POLYGON", self._since(first), geometry=polygon)
        if self._take("CORRIDOR"):
            line = self._string("a line in quotes, as WKT or GeoJSON")
            if not self._take("WITHIN"):
                self._expected("WITHIN and a distance after the line")
            within = self._measure("a distance", LENGTHS)
            place = self._since(first)
            return InsideSyntax("CORRIDOR", place, geometry=line, within=within)
        shape = "CIRCLE" if self._take("CIRCLE") else "BOX"
        if not self._at("("):
            self._expected("'(', CIRCLE, POLYGON or CORRIDOR after INSIDE")
        arguments = self._list(lambda: self._measure("a number", LENGTHS))
        return InsideSyntax(shape, self._since(first), arguments)

    def _knn(self) -> KnnSyntax:
        first = self.p._prev
        arguments = self._list(lambda: self._operand("a number"))
        return KnnSyntax(self._since(first), arguments)

    def _word(self, *words: str) -> Word:
        token = self.p._curr
        return Word(self._one_of(*words), self._place(token))

    # --- pieces

    def _clauses(self, node: Any, rules: dict[str, Callable[[], Any]], **fields: str) -> None:
        """Clauses in any order, each at most once, stored in the node's field of that name."""
        while self.p._curr:
            first = self.p._curr
            for clause, rule in rules.items():
                if self._take(*clause.upper().split()):
                    name = fields.get(clause, clause.lower().replace(" ", "_"))
                    if getattr(node, name) is not None:
                        self._place(first).refuse(f"{clause} stands here a second time")
                    setattr(node, name, rule())
                    break
            else:
                self._refuse_word(list(rules))

    def _refuse_word(self, words: list[str], otherwise: str = "") -> NoReturn:
        """Refuse what comes next, where one of these words or the end of the statement might."""
        ahead = [token.text for token in self.p._tokens[self.p._index : self.p._index + 2]]
        near = keyword(ahead[0], words) or keyword(" ".join(ahead), filter(_has_blank, words))
        remark = near or otherwise
        if "INSIDE" in words:
            remark = self._about_region() or remark
        if self._at("WHERE"):
            remark = "; WHERE stands once, directly after FROM"
        self._expected(listing([*words, "the end of the statement"]), remark)

    # --- INSIDE as a condition

    def predicate(self) -> InsidePredicate | None:
        """INSIDE where a condition may begin, if it comes next; None if another operand does.

        The parser of expressions calls this before each operand. What only looks like a condition,
        kNN and OUTSIDE, is refused.
        """
        word = self._region_ahead()
        before = self.p._prev
        begins = not before or any(self._is(before, opening) for opening in _BEFORE_CONDITION)
        if word is None and begins and self._at_unknown_shape():
            word = "INSIDE"
        if word is None:
            return None
        if word == "INSIDE" and begins:
            self._take("INSIDE")
            inside = self._inside()
            node = InsidePredicate(this=inside)
            node.meta.update(start=inside.place.start, end=inside.place.end - 1)
            return node
        if word == "INSIDE":
            self._expected("a value", "; INSIDE is a condition, for AND, OR and NOT")
        self._expected("a condition", _INSTEAD[word])

    def _about_region(self) -> str | None:
        """A remedy where a clause might stand and INSIDE or kNN with AND, OR or NOT does."""
        skipped = 0
        while any(self._is(self._ahead_by(skipped), word) for word in ("AND", "OR", "NOT")):
            skipped += 1
        word = self._region_ahead(skipped)
        if word in _INSTEAD:
            return _INSTEAD[word]
        joined = self._at("AND") or self._at("OR")
        return _IN_CONDITION if joined or (word and skipped) else None

    def _region_ahead(self, skipped: int = 0) -> str | None:
        """INSIDE, OUTSIDE (which there is not) or KNN, if it comes next with a region behind."""
        first, second = self._ahead_by(skipped), self._ahead_by(skipped + 1)
        for word in ("INSIDE", "OUTSIDE", "KNN"):
            if self._is(first, word) and any(self._is(second, s) for s in ("(", *_SHAPES)):
                return word
        return None

    def _at_unknown_shape(self) -> bool:
        """Whether `INSIDE ELLIPSE (` or the like comes next, rather than an attribute `inside`."""
        shape, behind = self._ahead_by(1), self._ahead_by(2)
        if not (self._at("INSIDE") and shape and behind):
            return False
        is_word = shape.token_type is TokenType.VAR and shape.text.upper() not in _AFTER_SOURCE
        return is_word and (self._is(behind, "(") or behind.token_type is TokenType.STRING)

    def _ahead_by(self, count: int) -> Token | None:
        at = self.p._index + count
        return self.p._tokens[at] if at < len(self.p._tokens) else None

    def condition(self) -> exp.Expr:
        """A condition, as it stands after WHERE and ON, or alone."""
        return self._expression(self.p._parse_disjunction, "a condition")

    def _operand(self, what: str) -> exp.Expr:
        return self._expression(self.p._parse_bitwise, what)

    def _number(self) -> exp.Expr:
        return self._operand("a number")

    def _measure(self, what: str, units: Iterable[str]) -> exp.Expr:
        """A number, perhaps with one of these units; a word behind it that is none is refused."""
        node = self._operand(what)
        word = self.p._curr
        is_behind = self.p._prev.token_type is TokenType.NUMBER and self._is_word(word)
        if is_behind and _nearest(word.text, _AFTER_NUMBER) is None:
            self._refuse_unit(word, f": expected {listing(units)}")
        return node

    def measured(self, number: exp.Literal) -> exp.Expr:
        """The number that was read last, with the unit that comes next, if one does.

        The parser of expressions calls this behind each number; the binder knows where a unit may
        stand. No name may stand behind a number, so what is nearly a unit is refused as one.
        """
        word = self.p._curr
        if not self._is_word(word) or (name := word.text.upper()) in _AFTER_NUMBER:
            return number
        if name not in UNITS:
            near = meant_speed(name) or _nearest(name, (*UNITS, *_AFTER_NUMBER))
            if near is not None and near not in _AFTER_NUMBER:
                self._refuse_unit(word, f"; did you mean {near}?")
            return number
        unit = UNITS[name]
        self.p._advance()
        if self._take("PER"):
            unit += " PER " + self._one_of("SECOND", "HOUR")
        measure = Measure(this=number, unit=unit)
        start = number.meta.get("start", word.start)
        measure.meta.update(start=start, end=self.p._prev.end)
        return measure

    def _refuse_unit(self, word: Token, remedy: str) -> NoReturn:
        self._place(word).refuse(f"unknown unit {word.text[:40]!r}{remedy}")

    @staticmethod
    def _is_word(token: Token | None) -> bool:
        """Whether a token is a word without quotes that SQL does not know."""
        return token is not None and token.token_type is TokenType.VAR

    def _expression(self, rule: Callable[[], Any], what: str) -> exp.Expr:
        node = rule()
        if not isinstance(node, exp.Expr):
            self._expected(what)
        return node

    def _list(self, item: Callable[[], Any]) -> list[Any]:
        self._require("(")
        items = [item()]
        while self._take(","):
            items.append(item())
        self._require(")")
        return items

    def _interval(self, otherwise: str = "") -> Interval:
        if not self._take("INTERVAL"):
            self._expected(f"INTERVAL {otherwise}".strip())
        return self._length()

    def _moment(self) -> Word:
        self._require("TIMESTAMP")
        return self._string("a time such as '2026-03-01 12:30:00'")

    def _length(self) -> Interval:
        first = self.p._curr
        if not first or first.token_type not in (TokenType.NUMBER, TokenType.STRING):
            self._expected("a length of time such as 90 SECONDS")
        self.p._advance()
        unit = self.p._curr
        name = unit.text.upper() if unit else ""
        micros = UNIT_MICROSECONDS.get(name if name.endswith("S") else name + "S")
        if micros is None:
            self._expected(f"a unit of time ({', '.join(UNIT_MICROSECONDS)})")
        self.p._advance()
        place = self._since(first)
        return Interval(_whole_micros(first.text, micros, place), place)

    def _name(self, what: str) -> Word:
        token = self.p._curr
        if not self._at_name():
            self._expected(what)
        if not token.text:
            self._place(token).refuse(f"{what} must not be empty")
        self.p._advance()
        return Word(token.text, self._place(token))

    def _at_name(self) -> bool:
        token = self.p._curr
        return bool(token) and (
            token.token_type is TokenType.IDENTIFIER or token.token_type in self.p.ID_VAR_TOKENS
        )

    def _string(self, what: str) -> Word:
        token = self.p._curr
        if not token or token.token_type is not TokenType.STRING:
            self._expected(what)
        self.p._advance()
        return Word(token.text, self._place(token))

    # --- tokens

    def _at(self, word: str) -> bool:
        """Whether the next token is this word or mark; a quoted one is a name, never a word."""
        return self._is(self.p._curr, word)

    @staticmethod
    def _is(token: Token | None, word: str) -> bool:
        return (
            bool(token)
            and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)  # type: ignore[union-attr]
            and token.text.upper() == word  # type: ignore[union-attr]
        )

    def _take(self, *words: str) -> bool:
        """Consume the words if they all come next."""
        ahead = self.p._tokens[self.p._index : self.p._index + len(words)]
        if len(ahead) == len(words) and all(map(self._is, ahead, words)):
            self.p._advance(len(words))
            return True
        return False

    def _one_of(self, *words: str) -> str:
        for word in words:
            if self._take(word):
                return word
        self._expected(listing(words))

    def _require(self, word: str) -> None:
        if not self._take(word):
            self._expected(f"{word}" if word.isalpha() else f"'{word}'")

    def _place(self, token: Token) -> Place:
        return Place(self.text, token.start, token.end + 1)

    def _since(self, first: Token) -> Place:
        return Place(self.text, first.start, self.p._prev.end + 1)


def _nearest(word: str, known: Iterable[str]) -> str | None:
    near = get_close_matches(word[:100].upper(), list(known), n=1, cutoff=0.8)
    return near[0] if near else None


def _has_blank(words: str) -> bool:
    return " " in words


def _whole_micros(number: str, unit: int, place: Place) -> int:
    # The pattern also keeps exponents out, which would make the fraction huge.
    if not re.fullmatch(r"\d{1,30}(\.\d{0,30})?|\.\d{1,30}", number):
        place.refuse(f"expected a number of time units such as 90 or 1.5, found {number[:40]!r}")
    micros = Fraction(number) * unit
    if not 0 < micros < MAX_INTERVAL:
        place.refuse("a length of time must be greater than zero and below 146,000 years")
    if micros.denominator != 1:
        place.refuse("a length of time must be a whole number of microseconds")
    return int(micros)
