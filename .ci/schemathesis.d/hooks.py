"""What Schemathesis cannot know of the service from its document; .ci/contract says how it is run."""
import schemathesis

# What the schema of a request cannot say, and the descriptions do: signatures, times, chains, the state of markets.
BEYOND_THE_SCHEMA = {
    "invalid_signature", "invalid_permit", "invalid_expiration", "size_too_small",
    # A number that fits the pattern of its digits, and is larger than the description says.
    "invalid_size", "invalid_request",
}
# A day that its month does not have.
AT_TEXT = "at: an integer of 0 to "
SYNC_TEXTS = ("userAddress: not one user in the body and another in the query", "userAddress: required")
# A cursor that no page has given, and a search for no word.
READ_TEXTS = (AT_TEXT, "cursor: send `nextCursor` of the page before", "query: words of the question")
# The relayer's errors have texts only.
RELAYER_TEXTS = (
    "No relayer configured for chain", "the signature is not the owner", "the deadline is too far ahead", "a proposal on this chain needs the bond",
    "Invalid signature format",
)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A position that the log does not have yet is waited for and answered with 503: asks for positions that it has."""
    headers = case.headers or {}
    for name in list(headers):
        text = str(headers[name])
        if name.lower() == "x-min-log-position" and text.isdigit() and len(text) < 300:
            headers[name] = str(int(text) % 20)


def has_odd_number(value):
    """To JSON Schema 1.0 is an integer, but the service takes digits alone; and a pattern of digits has no upper bound."""
    if isinstance(value, dict):
        return any(has_odd_number(each) for each in value.values())
    if isinstance(value, list):
        return any(has_odd_number(each) for each in value)
    return isinstance(value, float) or (isinstance(value, str) and value.isdigit() and int(value) >= 2**256)


@schemathesis.check
def refused_for_what_the_schema_cannot_say(ctx, response, case):
    """A request that fits the schema is refused with 400 only for reasons that a schema cannot express."""
    mode = case.meta.generation.mode if case.meta is not None else None
    if response.status_code != 400 or mode is None or not mode.is_positive or has_odd_number(case.body):
        return
    answer = response.json()
    text = str(answer.get("error"))
    if case.path.endswith("/sync"):
        known = answer.get("detail") in SYNC_TEXTS
    elif case.method == "GET":
        known = str(answer.get("detail")).startswith(READ_TEXTS)
    else:
        known = answer.get("code") in BEYOND_THE_SCHEMA if "code" in answer else text.startswith(RELAYER_TEXTS)
    assert known, f"400 to a request as documented: {text}"
