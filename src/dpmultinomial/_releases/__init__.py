"""Releases from confidential files. Each confidential file is read once, noise that cannot be reproduced is drawn, and
a public file is written.

No other part of the library opens a confidential file. `room.make` makes a release or returns an existing one;
`room.check` reports all errors in its settings before any confidential file is opened. The package requires the extra
``releases``.
"""
