/** What goes wrong under a fleet while clients call. Each scenario leaves everything running again. */
import type { Fleet } from './fleet.ts'
import type { Load } from './load.ts'

/** How much of everything. */
export interface Scale {
  /** Calls between two steps of a scenario. */
  readonly calls: number
  /** How long a server stands still or is away. */
  readonly awayMs: number
}

/** One of them; resolves when the fleet is whole again. */
export interface Scenario {
  readonly name: string
  run(fleet: Fleet, load: Load, scale: Scale): Promise<void>
}

/** All that is done to a fleet. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'kill -9 of a replica',
    async run({ replicas }, load, { calls }) {
      const [, victim] = replicas
      await load.kill(victim!)
      await load.more(calls)
      await victim!.start()
      load.revive(victim!)
    },
  },
  {
    name: 'a replica stands still (SIGSTOP)',
    async run({ replicas }, load, { calls, awayMs }) {
      const victim = replicas[2]!
      load.rotation.delete(victim)
      victim.signal('SIGSTOP')
      await Promise.all([load.more(calls), Bun.sleep(awayMs)])
      victim.signal('SIGCONT')
      load.rotation.add(victim)
    },
  },
  {
    name: 'Redis is emptied (FLUSHALL)',
    async run({ redis }, load, { calls }) {
      await redis.flush()
      await load.more(calls)
    },
  },
  {
    name: 'kill -9 of Redis, which comes back empty',
    async run({ redis }, load, { calls, awayMs }) {
      await redis.signal('SIGKILL')
      await Promise.all([load.more(calls), Bun.sleep(awayMs)])
      await redis.start()
    },
  },
  {
    name: 'Redis stands still (SIGSTOP)',
    async run({ redis }, load, { calls, awayMs }) {
      await redis.signal('SIGSTOP')
      await Promise.all([load.more(calls), Bun.sleep(awayMs)])
      await redis.signal('SIGCONT')
    },
  },
  {
    name: 'kill -9 of Postgres',
    async run({ postgres }, load, { calls }) {
      await postgres.signal('SIGKILL')
      await load.more(calls)
      await postgres.start()
    },
  },
  {
    name: 'Postgres cannot be reached',
    async run({ wire }, load, { calls, awayMs }) {
      wire.cut()
      await Promise.all([load.more(calls), Bun.sleep(awayMs)])
      wire.restore()
    },
  },
  {
    name: 'Postgres stands still',
    async run({ wire }, load, { calls, awayMs }) {
      wire.stall()
      await Promise.all([load.more(calls), Bun.sleep(awayMs)])
      wire.restore()
    },
  },
]
