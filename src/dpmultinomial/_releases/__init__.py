"""Release of public files that are computed from confidential files. This package reads each confidential file once,
draws noise that cannot be reproduced, and writes a public file.

No other part of the library opens a confidential file. `room.make` makes a release or returns an existing one;
`room.check` reports all errors in its settings before any confidential file is opened. The package requires the extra
``releases``.
"""
