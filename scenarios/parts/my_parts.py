"""Parts of my own: the whole network and the data of my_parts.toml, about ten lines each."""

import numpy as np

from simnet.extend import (
    CodecKind,
    Count,
    DataSource,
    Fault,
    Field,
    Latency,
    Metric,
    Output,
    Pacing,
    PacketLoss,
    Positive,
    PositiveSeconds,
    Probability,
    RowPartition,
    Seconds,
    Topology,
    VaryingRate,
    Whole,
)


class Weibull(Latency):
    """Delays with a Weibull distribution behind a least one."""

    least: Seconds = Field(0.005, description="no delay is shorter")
    scale: PositiveSeconds = Field(0.01, description="63 % of the delays exceed the least by less")
    shape: Positive = Field(0.8, description="below 1 the tail is heavy")

    def draw(self, rng, n):
        return self.least + self.scale * rng.weibull(self.shape, n)


class Fading(PacketLoss):
    """The signal of a link wanders; a packet is lost while it is weak."""

    memory: Probability = Field(0.9, description="how much of the signal is that of the packet before")
    weak: float = Field(-1.6, description="below this, in standard deviations, packets are lost")

    def fates(self, rng):
        signal = rng.standard_normal()
        while True:
            yield signal < self.weak
            signal = self.memory * signal + (1 - self.memory**2) ** 0.5 * rng.standard_normal()


class DayAndNight(VaryingRate):
    """Half of the time a fast line, half of the time a slow one; each line begins anywhere in its day."""

    day: PositiveSeconds = Field(2.0, description="how long both take together")
    fast: Positive = Field(1e6, description="bits per second by day")
    slow: Positive = Field(1e5, description="bits per second by night")

    def steps(self, rng):
        began = rng.uniform(0, self.day / 2)
        return [(self.day / 2 - began, self.fast), (self.day / 2, self.slow), (began, self.fast)]


class Dithered(CodecKind):
    """Whole multiples of a step in 2 bytes each, rounded at random so that the mean is exact."""

    step: Positive = Field(0.001, description="what is rounded to")

    def write(self, vector, told, rng):
        steps = np.floor(vector / self.step + rng.random(len(vector)))
        return np.clip(steps, -(2**15), 2**15 - 1).astype("<i2").tobytes()

    def read(self, data, length):
        return self.step * np.frombuffer(data, "<i2")


class AllButSome(Pacing):
    """An agent waits for news of this round from all but a few neighbours."""

    slow: Whole = Field(1, description="neighbours that are not waited for")
    patience: PositiveSeconds = Field(0.5, description="longest wait")

    def enough(self, round, neighbourhood):
        return neighbourhood.behind(round) <= self.slow


class Circles(Topology):
    """Circles of agents, each linked with the next by one of its agents."""

    circles: Count = Field(2, description="how many")
    size: Count = Field(4, description="agents of each")

    def edges(self, rng):
        starts = range(0, self.circles * self.size, self.size)
        bridges = [(start, start + self.size) for start in starts[:-1]]
        return bridges + [(start + i, start + (i + 1) % self.size) for start in starts for i in range(self.size)]


class Outages(Fault):
    """One link after another, drawn at random, carries nothing for a while."""

    number: Count = Field(5, description="how many")
    every: PositiveSeconds = Field(0.5, description="time from one to the next")
    duration: PositiveSeconds = Field(0.2, description="how long each lasts")

    def outages(self, edges, rng):
        links = sorted(edges.edges)
        times = self.every * np.arange(1, self.number + 1)
        return [(links[rng.integers(len(links))], time, time + self.duration) for time in times.tolist()]


class Sensors(DataSource):
    """Readings around two working points, some of them labelled by mistake."""

    rows: Count = Field(600, description="how many")
    sensors: Count = Field(6, description="numbers in each")
    mistakes: Probability = Field(0.05, description="share of the labels that are wrong")

    def draw(self, rng):
        y = rng.choice([-1.0, 1.0], self.rows)
        X = rng.normal(size=(self.rows, self.sensors)) + 0.8 * y[:, None]
        return X, np.where(rng.random(self.rows) < self.mistakes, -y, y)


class BySensor(RowPartition):
    """Rows with similar readings of one sensor are at one agent."""

    sensor: Whole = Field(0, description="which one")

    def deal(self, rows, agents, rng):
        return np.array_split(np.argsort(rows.X[:, self.sensor], kind="stable"), agents)


class Farthest(Metric):
    """How far the farthest model is from the mean of all."""

    def value(self, models, test, task):
        return float(np.linalg.norm(models - models.mean(axis=0), axis=1).max())


class Recent(Output):
    """An agent's own releases, each worth half of the next one."""

    reach = "own"
    window = 8

    def model(self, learnt):
        if not learnt.own:
            return learnt.last
        weights = 0.5 ** np.arange(len(learnt.own))[::-1]
        return np.average([told.model for told in learnt.own], axis=0, weights=weights)
