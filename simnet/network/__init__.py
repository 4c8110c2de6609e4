"""Networks: who is connected with whom, and what becomes of a message between two agents.

Nothing here knows a clock or schedules anything: a link is told the time and the size of a message and says at once
when it leaves, whether and when it arrives. An engine does the rest.
"""
