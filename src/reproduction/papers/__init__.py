"""Papers, with one folder per paper. A paper is found by the existence of its folder, whose contents are described in
``reproduction.paper``.
"""
