"""Storms: seeded random damage to files. Each case ends in success or in one clear error, never in a traceback.

`make storm` runs long storms; the tests in this folder run short ones.
"""
