"""The whole worker: a config, a runtime, and the kit's command line."""

import json
import sys
import time
from pathlib import Path

from mosaic_worker.cli import main
from mosaic_worker.errors import UserError
from mosaic_worker.files import write_atomically


class RandomConfig:
    """What to do at each step; ``misbehave`` makes the faults that tests need."""

    def __init__(self, spec):
        self.env_id, self.env_kwargs = spec.env.id, spec.env.kwargs
        self.seed, self.total_timesteps = spec.seed, spec.total_timesteps
        unknown = set(spec.algo.native) - {"misbehave", "step_seconds"}
        if unknown:
            raise UserError(f"algo.native: no such parameter: {', '.join(sorted(unknown))}")
        self.misbehave = spec.algo.native.get("misbehave")
        self.step_seconds = spec.algo.native.get("step_seconds", 0.0)
        self.checkpoint = spec.resume.checkpoint if spec.mode == "resume_training" else None

    def describe(self):
        return vars(self)


class RandomRuntime:
    """Random actions until the budget is used up."""

    def __init__(self, config, session):
        from mosaic_worker.rl import making

        self.config, self.session = config, session
        self.env = making.make(config.env_id, config.env_kwargs)
        self.steps = 0

    def run(self):
        config, session, env = self.config, self.session, self.env
        env.action_space.seed(config.seed)
        env.reset(seed=config.seed)
        if config.checkpoint:
            self.load(Path(config.checkpoint))
        episode_return, length = 0.0, 0
        while self.steps < config.total_timesteps:
            if self.steps == 50 and config.misbehave:
                from random_worker import faults

                getattr(faults, config.misbehave)(session)
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            self.steps, episode_return, length = self.steps + 1, episode_return + float(reward), length + 1
            session.tick()
            time.sleep(config.step_seconds)
            if terminated or truncated:
                session.episode(episode_return, length)
                episode_return, length = 0.0, 0
                env.reset()
                if not config.misbehave:
                    session.safe_point(self.save_checkpoint)

    def load(self, checkpoint):
        state = json.loads(checkpoint.read_text(encoding="utf-8"))
        self.steps = state["steps"]
        self.env.action_space.np_random.bit_generator.state = state["rng"]
        self.session.continue_from(self.steps)
        self.session.checkpoint_loaded(checkpoint, self.steps)

    def save_checkpoint(self, directory):
        state = {"steps": self.steps, "rng": self.env.action_space.np_random.bit_generator.state}
        path = directory / f"step-{self.steps}.json"
        write_atomically(path, lambda file: file.write(json.dumps(state).encode()))
        return path

    def close(self):
        self.env.close()


class RandomWorker:
    """What the kit needs of this worker."""

    package = "random_worker"

    def config(self, spec):
        return RandomConfig(spec)

    def runtime(self, config, session):
        return RandomRuntime(config, session)

    def native_parameters(self):
        help_ = {"misbehave": "a fault to show at step 50, by its name in faults.py", "step_seconds": "pause of a step"}
        types = {"misbehave": "str", "step_seconds": "float"}
        return {"random": {name: {"type": types[name], "default": None, "help": help_[name]} for name in types}}


if __name__ == "__main__":
    sys.exit(main(RandomWorker()))
