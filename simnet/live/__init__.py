"""Live: agents as processes of their own, over real sockets, in real time.

certificates  who is who: an authority a deployment (`authority`), a certificate an agent
envelope      what a frame travels in, and what is refused (`refusal`)
channel       frames between an agent and its neighbours: `link` dials, `reception` lets in, both over `stream`;
              `outbox` and `inbox` keep the numbers, `speaker` the names, `limits` the bounds
shim          the scenario's links in front of the channel
agent         one agent's life at its `post`: `memory` writes its `journal` (of `records`, in its `folder`),
              `checkpoint` saves its objects, `recovery` says where to go on after a crash
fleet         all agents of a run as processes of this machine; `alone` is one on a host of its own, `peers` its file
merge         the agents' journals as one record
run           `simnet live`; `fit` says which scenarios can be
"""
