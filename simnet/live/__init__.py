"""Live: agents as processes of their own, over real sockets, in real time.

certificates  who is who: an authority a deployment (`authority`), a certificate an agent
envelope      what a frame travels in, and what is refused (`refusal`)
channel       frames between an agent and its neighbours: `link` dials, `reception` lets in, both over `stream`;
              `outbox` and `inbox` keep the numbers, `speaker` the names, `limits` the bounds
"""
