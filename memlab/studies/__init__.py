"""What a picture shows, as values: exact numbers with a text and a dict, and no drawing.

A study is made from a plan, a run or a kernel; a picture, a table and a program read the same one.
"""
