"""Common code for the scenarios that users define. A scenario is a single case, a grid or a batch. Each kind of
scenario is a folder in this package.
"""
