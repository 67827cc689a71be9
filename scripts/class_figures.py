"""Counts methods and data members of C++ classes, for scripts/check-laws.

It reads what this code base writes: formatted sources in which a class is defined once, and whose
members are declared in its body. A method is a member function, static ones too; constructors,
destructors, operators and what is deleted are none. A data member is one that each object has. What
a class inherits is not counted, and neither is a class within it, which has figures of its own.

`code` is without comments and strings.
"""

import re

TOKEN = re.compile(r"[A-Za-z_]\w*|[0-9][\w.']*|::|->|\[\[|\]\]|&&|\S")
OPEN = {"(": ")", "[": "]", "{": "}", "[[": "]]"}
RECORDS = ("class", "struct", "union")
# Words whose parentheses are no list of parameters.
TAKES_PARENTHESES = ("alignas", "decltype", "explicit", "noexcept", "requires", "sizeof")
NO_MEMBER = ("using", "typedef", "friend", "static_assert", "enum")


def figures_of(code):
    """Yields (name, line, methods, data members) of each class defined in the code; the name of one
    within another is outer::inner."""
    return reader(code).read()


def tokens_of(code):
    """(text, line) of each token; preprocessor lines are left out."""
    result, goes_on = [], False
    for number, line in enumerate(code.splitlines(), start=1):
        is_directive = goes_on or line.lstrip().startswith("#")
        goes_on = is_directive and line.endswith("\\")
        if not is_directive:
            result.extend((match[0], number) for match in TOKEN.finditer(line))
    return result


class reader:
    def __init__(self, code):
        tokens = tokens_of(code)
        self.words = [text for text, _ in tokens]
        self.lines = [line for _, line in tokens]
        self.found = []

    def read(self):
        self.read_scope(0, len(self.words), "", None)
        return self.found

    # ---- Places: an index into the words --------------------------------------------------------

    def word(self, at):
        return self.words[at] if at < len(self.words) else ""

    def past(self, at):
        """Behind the bracket that closes the one at `at`."""
        open_ones = []
        while at < len(self.words):
            word = self.words[at]
            if word in OPEN:
                open_ones.append(OPEN[word])
            elif open_ones and word == open_ones[-1]:
                open_ones.pop()
            at += 1
            if not open_ones:
                break
        return at

    def past_angles(self, at):
        """The same for < and >, between which brackets may stand."""
        depth = 0
        while at < len(self.words):
            word = self.words[at]
            if word in OPEN:
                at = self.past(at)
                continue
            depth += (word == "<") - (word == ">")
            at += 1
            if depth == 0:
                break
        return at

    def past_statement(self, at):
        """Behind the ; that ends what is no function."""
        while at < len(self.words) and self.words[at] != ";":
            at = self.past(at)
        return at + 1

    # ---- Scopes ---------------------------------------------------------------------------------

    def read_scope(self, at, end, outer, figures):
        """A file, a namespace or the body of a class, whose figures are counted then."""
        while at < end:
            at = self.read_statement(at, end, outer, figures)

    def read_statement(self, at, end, outer, figures):
        if self.word(at) in ("public", "protected", "private") and self.word(at + 1) == ":":
            return at + 2
        while self.word(at) in ("template", "[["):
            at = self.past_angles(at + 1) if self.word(at) == "template" else self.past(at)
        if self.word(at) in ("namespace", "extern", "inline") and figures is None:
            body = at
            while body < end and self.words[body] not in ("{", ";", "(", "="):
                body += 1
            if self.word(at) == "namespace" or "namespace" in self.words[at:body]:
                if self.word(body) != "{":
                    return self.past_statement(body)
                self.read_scope(body + 1, self.past(body) - 1, outer, None)
                return self.past(body)
        if self.word(at) in RECORDS:
            body = self.body_of_class(at, end)
            if body:
                return self.read_class(at, body, outer, figures)
            if self.word(at + 2) == ";": # it is declared only
                return at + 3
        if self.word(at) == "friend":
            return self.past_declaration(at)[0]
        if self.word(at) in NO_MEMBER:
            return self.past_statement(at)
        return self.read_declaration(at, outer, figures)

    def body_of_class(self, at, end):
        """Where the { of the class stands; 0 when it is declared only, or is the type of something."""
        while at < end and self.words[at] not in ("{", ";", "(", "="):
            at = self.past_angles(at) if self.words[at] == "<" else at + 1
        return at if self.word(at) == "{" and at < end else 0

    def read_class(self, at, body, outer, figures):
        head = self.words[at + 1:body]
        if ":" in head:
            head = head[:head.index(":")]
        if "<" in head: # a specialization counts under the name of its template
            head = head[:head.index("<")]
        name = "".join(word for word in head if word.isidentifier() and word != "final"
                       or word == "::")
        end = self.past(body)
        if name:
            own = {"name": name.split("::")[-1], "methods": 0, "members": 0}
            name = f"{outer}::{name}" if outer else name
            place = len(self.found)
            self.read_scope(body + 1, end - 1, name, own)
            self.found.insert(place, (name, self.lines[at], own["methods"], own["members"]))
        if self.word(end) == ";":
            return end + 1
        if figures is not None: # } name_;
            figures["members"] += 1
        return self.past_statement(end)

    # ---- Declarations ---------------------------------------------------------------------------

    def read_declaration(self, at, outer, figures):
        end, parameters, is_deleted = self.past_declaration(at)
        if figures is None or self.word(at) == ";":
            return end
        if parameters is None:
            if "static" not in self.words[at:end]:
                figures["members"] += self.declarators(at, end)
        elif not is_deleted and "operator" not in self.words[at:parameters]:
            figures["methods"] += self.word(parameters - 1) != figures["name"]
        return end

    def past_declaration(self, at):
        """(behind the declaration, where its list of parameters begins if it is of a function,
        whether that is deleted)."""
        parameters = self.parameters_of(at)
        if parameters is None:
            return self.past_statement(at), None, False
        at = self.past(parameters)
        is_deleted = initializes = False
        while at < len(self.words):
            word = self.words[at]
            if word == ";":
                return at + 1, parameters, is_deleted
            if word == "{" and not (initializes and self.words[at - 1] not in (")", "}")):
                return self.past(at), parameters, is_deleted
            is_deleted = is_deleted or (word == "delete" and self.words[at - 1] == "=")
            initializes = initializes or word == ":"
            at = self.past_angles(at) if word == "<" else self.past(at)
        return at, parameters, is_deleted

    def parameters_of(self, at):
        """Where the parameters of a function begin; None when this declares something else."""
        while at < len(self.words) and self.words[at] not in (";", "=", "{", "}"):
            word = self.words[at]
            if word == "operator": # operator()(...)
                at += 1
                while self.word(at) != "(" or self.word(at + 1) == ")" == self.word(at - 1):
                    at += 1
                return self.past(at) if self.words[at - 1] == "operator" else at
            if word == "(":
                if self.words[at - 1] not in TAKES_PARENTHESES:
                    return None if self.word(at + 1) == "*" else at
                at = self.past(at)
            else:
                at = self.past_angles(at) if word == "<" else self.past(at)
        return None

    def declarators(self, at, end):
        """How many data members one declaration names: `int a = 1, b{2};`."""
        count, is_value = 1, False
        while at < end:
            word = self.words[at]
            is_value = (is_value or word in ("=", "{")) and word != ","
            count += word == ","
            is_type = word == "<" and not is_value
            at = self.past_angles(at) if is_type else self.past(at)
        return count
