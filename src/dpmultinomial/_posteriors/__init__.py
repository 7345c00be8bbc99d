"""Posteriors given protected releases, in one package per problem."""
