"""Fixtures that all tests share: folders in which the real workflow runs."""

pytest_plugins = ("tests.workflow.running",)
