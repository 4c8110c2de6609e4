"""What a part is: a class with typed, documented fields that a scenario chooses by a word, and that does its own job.

`simnet.parts.part` has the base classes and the tables, `simnet.parts.fields` the types of fields.
"""
