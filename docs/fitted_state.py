"""For the reference: fitted state (names that end in _) is no parameter.

The estimators are dataclasses that declare their fitted attributes for type
checkers only; read statically, these look like fields.
"""

from __future__ import annotations

from typing import Any

import griffe


class FittedState(griffe.Extension):
    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        for name, member in list(cls.members.items()):
            if name.endswith("_") and member.is_attribute:
                del cls.members[name]
