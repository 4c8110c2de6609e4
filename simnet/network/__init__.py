"""Networks: who is connected with whom, and what becomes of a message between two agents.

Nothing here knows a clock or schedules anything: a link is told the time and the size of a message and says at once
when it leaves, whether and when it arrives. An engine does the rest.

topology     the graph, drawn or read (`graph_files`)
model        what a link is like: `latency`, `loss`, `queueing`, presets
link         a `Transmitter` (packets, queue, bandwidth) and the wire behind it (delay, loss, order, copies, corruption)
frame        a message as bytes, with a checksum, and its payload
codec        vectors as bytes
"""
