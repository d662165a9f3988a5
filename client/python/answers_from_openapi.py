"""
python answers_from_openapi.py <openapi.json >src/prediction_exchange/answers.py: the types of the exchange's answers,
from its own document.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

STREAM = "/api/v1/stream"
#: It ends a stream, and is never given as a message.
NO_MESSAGE = "StreamError"
WIDTH = 110

HEAD = '''"""The exchange's answers, by its OpenAPI document. Written by answers_from_openapi.py; do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

from typing_extensions import NotRequired

'''


class Module:
    """The definitions that a document leads to, in an order in which aliases follow what they name."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._done: dict[str, str] = {}
        for name in sorted(schemas):
            self._define(name, schemas[name])

    def text(self, messages: Any) -> str:
        """The module's text; `messages` is the schema of what streams give."""
        parts = [
            part
            for part in messages.get("anyOf") or messages.get("oneOf") or [messages]
            if _reference(part) != NO_MESSAGE
        ]
        alias = f"StreamMessage = Union[{', '.join(self.type_of(part, 'StreamMessage') for part in parts)}]\n"
        return HEAD + "\n\n".join([*self._done.values(), alias])

    def type_of(self, schema: Any, name: str) -> str:
        """The type of a schema; objects without a name get this one."""
        reference = _reference(schema)
        if reference is not None:
            return reference
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return _union([self.type_of(part, name) for part in schema[key]])
        kind = schema.get("type")
        if isinstance(kind, list):
            return _union([self.type_of({**schema, "type": each}, name) for each in kind])
        if kind == "array":
            return f"list[{self.type_of(schema.get('items', {}), name)}]"
        if kind == "object":
            return self._object(schema, name)
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(
            kind, "Any"
        )

    def _object(self, schema: Any, name: str) -> str:
        if schema.get("properties"):
            self._define(name, schema)
            return name
        values = schema.get("additionalProperties", next(iter(schema.get("patternProperties", {}).values()), True))
        return f"dict[str, {self.type_of(values, name + 'Value') if isinstance(values, dict) and values else 'Any'}]"

    def _define(self, name: str, schema: Any) -> None:
        if name in self._done:
            return
        if not schema.get("properties"):
            # Aliases of aliases come after what they name.
            for reference in re.findall(r'"\$ref": "[^"]*/(\w+)"', json.dumps(schema)):
                self._define(reference, self._schemas[reference])
            self._done[name] = f"{name} = {self.type_of(schema, name + 'Value')}\n"
            return
        self._done[name] = ""
        properties = schema["properties"]
        types = {
            field: self.type_of(of_field, name + field[0].upper() + field[1:]) for field, of_field in properties.items()
        }
        required = schema.get("required", [])
        told = {field: kind if field in required else f"NotRequired[{kind}]" for field, kind in types.items()}
        # A name that Python keeps for itself, as `from`, can only be a key.
        by_key = any(keyword.iskeyword(field) or not field.isidentifier() for field in told)
        opening = (
            [f"{name} = TypedDict({name!r}, {{"]
            if by_key
            else [f"class {name}(TypedDict):", *_docstring(schema.get("description"))]
        )
        fields = [
            [
                *_comment(properties[field].get("description")),
                f"    {field!r}: {kind!r}," if by_key else f"    {field}: {kind}",
            ]
            for field, kind in told.items()
        ]
        lines = [*opening, *(line for field in fields for line in field), *(["})"] if by_key else [])]
        # What it names for the first time has been defined meanwhile, and stands before it.
        del self._done[name]
        self._done[name] = "\n".join(lines) + "\n"


def answered(document: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas that answers of the API lead to. What only requests have is the client's own matter."""
    components = document["components"]
    waiting: list[Any] = [
        operation["responses"]
        for path, operations in document["paths"].items()
        if path.startswith("/api/")
        for operation in operations.values()
        if isinstance(operation, dict)
    ]
    found: dict[str, Any] = {}
    seen: set[tuple[str, str]] = set()
    while waiting:
        for kind, name in re.findall(r'"#/components/(\w+)/(\w+)"', json.dumps(waiting.pop())):
            if (kind, name) not in seen:
                seen.add((kind, name))
                waiting.append(components[kind][name])
                if kind == "schemas":
                    found[name] = components[kind][name]
    return found


def _reference(schema: Any) -> str | None:
    reference = schema.get("$ref")
    return None if reference is None else str(reference).rsplit("/", 1)[1]


def _union(types: list[str]) -> str:
    distinct = list(dict.fromkeys(types))
    literals = [each[len("Literal[") : -1] for each in distinct if each.startswith("Literal[")]
    rest = [each for each in distinct if not each.startswith("Literal[")]
    whole = ([f"Literal[{', '.join(literals)}]"] if literals else []) + rest
    return whole[0] if len(whole) == 1 else f"Union[{', '.join(whole)}]"


def _docstring(text: str | None) -> list[str]:
    if not text:
        return []
    lines = textwrap.wrap(text.replace("\\", "\\\\"), WIDTH)
    return [f'    """{lines[0]}"""'] if len(lines) == 1 else ['    """', *(f"    {line}" for line in lines), '    """']


def _comment(text: str | None) -> list[str]:
    return [f"    #: {line}" for line in textwrap.wrap(text or "", WIDTH)]


def main() -> None:
    """Reads the document from standard input, and writes the module to standard output."""
    document = json.load(sys.stdin)
    answer = document["paths"][STREAM]["get"]["responses"]["200"]["content"]["text/event-stream"]["schema"]
    sys.stdout.write(Module(answered(document)).text(answer))


if __name__ == "__main__":
    main()
