"""Text to syntax: sqlglot's tokens and expressions, with our statements around them.

`Watchline` is a sqlglot dialect. Its parser replaces the statements (ours are few) and inherits the
expressions; what sqlglot would accept and we do not (functions, subqueries …) the binder refuses.

Cost: linear in the text. The limits below keep a hostile text from costing more than a second or
two, and sqlglot's recursion is caught where it would run out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeVar

import sqlglot
from sqlglot import Dialect, ParseError, Token, TokenType, exp
from sqlglot.errors import TokenError

from watchline.errors import QuerySyntaxError
from watchline.sql.grammar import Grammar
from watchline.sql.syntax import TOO_DEEP, Syntax

# Operators that have a value on their left.
_BINARY = frozenset(
    {*sqlglot.Parser.EQUALITY, *sqlglot.Parser.COMPARISON, TokenType.SLASH, TokenType.MOD}
)
T = TypeVar("T")

MAX_CHARACTERS = 4 * 2**20
MAX_WORDS = 50_000


class _Refused(ParseError):
    """A place and a problem, on their way out of sqlglot's parser."""

    def __init__(self, problem: str, start: int, end: int):
        super().__init__(problem, [{"description": problem}])
        self.problem, self.start, self.end = problem, start, end


class Watchline(Dialect):
    """Our SQL for sqlglot: `sqlglot.tokenize(text, read=Watchline)`."""

    class Tokenizer(sqlglot.Tokenizer):
        # EXPLAIN and SHOW would swallow the rest of the statement as one string.
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind
            for word, kind in sqlglot.Tokenizer.KEYWORDS.items()
            if kind not in (*sqlglot.Tokenizer.COMMANDS, TokenType.HINT, TokenType.UNKNOWN)
        }
        COMMANDS: ClassVar[set[TokenType]] = set()

    class Parser(sqlglot.Parser):
        # No casts, JSON paths or the like behind an operand: only `alias.attribute`.
        COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {TokenType.DOT: None}
        # FOR begins a clause of ours. As an operator sqlglot would drop a NOT that precedes it.
        RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
            kind: rule
            for kind, rule in sqlglot.Parser.RANGE_PARSERS.items()
            if kind is not TokenType.FOR
        }
        UNARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
            **sqlglot.Parser.UNARY_PARSERS,
            TokenType.PLUS: lambda self: self.signed(),
        }

        def statement(self, tokens: list[Token], text: str) -> Syntax:
            """The one statement that the tokens are."""
            return self._whole(tokens, text, Grammar.statement, "the end of the statement or ';'")

        def lone_condition(self, tokens: list[Token], text: str) -> Any:
            """The condition that the tokens are."""
            end = "AND, OR or the end of the condition"
            return self._whole(tokens, text, Grammar.condition, end)

        def _whole(
            self, tokens: list[Token], text: str, rule: Callable[[Grammar], T], end: str
        ) -> T:
            """What a rule reads from all of the tokens; `Parser.parse` would act on BEGIN and
            ELSE."""
            self.reset()
            self.sql = text
            self._chunks = [tokens]
            self._advance_chunk()
            found = rule(Grammar(self))
            if self._curr:
                self.expected(end)
            return found

        def expression(
            self, instance: Any, token: Token | None = None, comments: list[str] | None = None
        ) -> Any:
            instance = super().expression(instance, token, comments)
            # Literals and names know their place; other leaves (NULL, TRUE, ?) are told theirs.
            if "start" not in instance.meta and not any(instance.iter_expressions()):
                instance.update_positions(self._prev)
            return instance

        # --- what sqlglot would pass over

        def signed(self) -> Any:
            """The number after a sign `+`, which sqlglot also takes before names and strings."""
            signed = (TokenType.NUMBER, TokenType.DOT, TokenType.DASH, TokenType.PLUS)
            if not self._curr or self._curr.token_type not in (*signed, TokenType.L_PAREN):
                self.expected("a number after '+'")
            return self._parse_unary()

        def _parse_csv(self, parse_method: Any, sep: TokenType = TokenType.COMMA) -> list[Any]:
            """Items between commas; sqlglot would pass over a comma without an item."""
            items: list[Any] = []
            while (item := parse_method()) is not None:
                items.append(item)
                if not self._match(sep):
                    return items
            if items or (self._curr and self._curr.token_type is sep):
                self.expected("a value")
            return items

        def _parse_unary(self) -> Any:
            """An operand, or INSIDE, which sqlglot would take for a function."""
            first = self._curr
            if first and first.token_type in _BINARY:
                self.expected("a value")
            inside = Grammar(self).predicate()
            return inside or self._spanning(first, self._measured(super()._parse_unary()))

        def _measured(self, node: Any) -> Any:
            """The operand, with the unit that stands behind it if it is a number."""
            is_number = isinstance(node, exp.Literal) and not node.is_string
            return Grammar(self).measured(node) if is_number and self._curr else node

        def _parse_range(self, this: Any = None, parse_is: bool = False) -> Any:
            return self._spanning(self._curr, super()._parse_range(this, parse_is))

        def _spanning(self, first: Token | None, node: Any) -> Any:
            """The node with all its words as its place: sqlglot places names and literals only."""
            if first and isinstance(node, exp.Expr) and not isinstance(node, exp.Column):
                start = min(first.start, node.meta.get("start", first.start))
                node.meta.update(start=start, end=self._prev.end)
            return node

        def _parse_bracket(self, this: Any = None) -> Any:
            """No operand has braces: sqlglot fails with an error of its own on some of them."""
            if self._curr and self._curr.token_type is TokenType.L_BRACE:
                self.expected("a value or an operator")
            return super()._parse_bracket(this)

        def _parse_alias(self, this: Any, explicit: bool = False) -> Any:
            """No operand has an alias: `(price < 5 AS cheap)` is a mistake at AS."""
            return this

        def _parse_between(self, this: Any) -> Any:
            """sqlglot would read `BETWEEN 1 2`, too."""
            if self._curr and self._curr.text.upper() in ("SYMMETRIC", "ASYMMETRIC"):
                self.expected("the lower end of BETWEEN")
            low = self._parse_bitwise()
            if not self._match(TokenType.AND):
                self.expected("AND and the upper end of BETWEEN")
            return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

        # --- errors

        def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
            if expression.error_messages(args):
                self.expected(f"a value after {self._prev.text!r}" if self._prev else "a value")
            return expression

        def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
            """Every complaint of sqlglot's own parser passes here."""
            if message.startswith("Expecting "):
                self.expected(repr(message.removeprefix("Expecting ").strip()))
            self.expected("a condition as in: price < 40 AND symbol = 'IBM'")

        def expected(self, what: str, remark: str = "") -> NoReturn:
            token = self._curr
            if not token:
                end = self._prev.end + 1 if self._prev else len(self.sql)
                raise _Refused(f"expected {what}, but the statement ends", end, end)
            problem = f"expected {what}, found {_shown(token)}{remark}"
            raise _Refused(problem, token.start, token.end + 1)


def parse(text: str) -> list[Syntax]:
    """All statements of the text. An error points at the first thing that is wrong."""
    found = _read(
        text,
        lambda parser, tokens: [parser.statement(chunk, text) for chunk in _statements(tokens)],
    )
    if not found:
        raise QuerySyntaxError(
            "the text holds no statement: expected CREATE, DROP, SHOW or EXPLAIN"
        )
    return found


def parse_condition(text: str) -> Any:
    """The condition that the text is: what may stand after WHERE."""
    return _read(text, lambda parser, tokens: parser.lone_condition(tokens, text))


def _read(text: str, rule: Callable[[Any, list[Token]], T]) -> T:
    """What the rule reads from the tokens of the text."""
    if len(text) > MAX_CHARACTERS:
        raise QuerySyntaxError(
            f"the text has {len(text):,} characters, more than the {MAX_CHARACTERS:,} that are read"
            " at once: split it, or register in bulk with Catalog.register_boxes,"
            " Catalog.register_regions or `watchline query load`"
        )
    _check_unicode(text)
    dialect = Watchline()
    try:
        tokens = dialect.tokenize(text)
        _check_tokens(tokens, text)
        return rule(dialect.parser(), tokens)
    except _Refused as refused:
        raise QuerySyntaxError(refused.problem, text, refused.start, refused.end) from None
    except TokenError as error:
        raise QuerySyntaxError(
            "a quotation mark or comment is opened here and never closed", text, _unclosed(text)
        ) from error
    except RecursionError:
        raise QuerySyntaxError(TOO_DEEP, text) from None


def _statements(tokens: list[Token]) -> list[list[Token]]:
    """The tokens between semicolons; nothing between two of them is no statement."""
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]


_CLOSED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_OPENING = re.compile(r"""['"]|/\*""")


def _unclosed(text: str) -> int:
    """Where the first quotation mark or comment stands that nothing closes."""
    blanked = _CLOSED.sub(lambda found: " " * len(found.group()), text)
    opening = _OPENING.search(blanked)
    return opening.start() if opening else len(text)


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QuerySyntaxError(
            "the text has a character that is not valid Unicode: read it as UTF-8",
            text[: error.start],
            error.start,
        ) from None


def _check_tokens(tokens: list[Token], text: str) -> None:
    words = 0
    for token in tokens:
        words = 0 if token.token_type is TokenType.SEMICOLON else words + 1
        if words > MAX_WORDS:
            raise _Refused(
                f"the statement has more than {MAX_WORDS:,} words:"
                " split it into several queries, or use Catalog.register_boxes",
                token.start,
                token.end + 1,
            )
        if token.token_type is TokenType.UNKNOWN:
            raise _Refused(
                f"unexpected character {token.text!r}: quote names with \"…\" and strings with '…'",
                token.start,
                token.end + 1,
            )


def _shown(token: Token) -> str:
    text = token.text if len(token.text) <= 40 else token.text[:39] + "…"
    return f"'{text}'" if token.token_type is TokenType.STRING else repr(text)
