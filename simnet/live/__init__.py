"""Live: agents as processes of their own, over real sockets, in real time.

run           `simnet live`: all agents of a scenario on this machine, and their journals as one record
standalone    `simnet agent`: one agent on a host of its own; the peer file
fleet         the agents of a run as processes of this machine
agent         one agent's life, from its start or restart to its end
live_port     what its program sees: time, messages, the record
shim          the scenario's links in front of the channel
channel       frames between an agent and its neighbours, over what follows
dialer        the connection to one neighbour
server        the connections of those who dial this agent
connection    one connection, and what it may cost
sequencing    each frame once and in order
envelope      what a frame travels in, and the reasons for which it is refused
chain         what an agent has charged and let out as a chain of hashes, and what neighbours remember of it
certificates  who is who; `authority` signs
machine       what all of this asks of the system; tests give it a simulated one
agent_folder  the files that an agent keeps
journal       the file of all that an agent must not forget
checkpoint    an agent's objects as bytes
recovery      what is written when, and where to go on after a crash
"""
