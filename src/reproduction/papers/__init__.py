"""Papers, with one folder per paper. A paper is recognised by its folder, whose contents are described in
``reproduction.paper``.
"""
