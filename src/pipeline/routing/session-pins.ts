/**
 * The deployment that served the last turn of a session, whose prompt cache is warm: it is tried first among those that
 * the router would choose from anyway. Where a session has no pin a hash says which one it is, on every replica the
 * same, so that most pins need not be told to anybody.
 */
import { LRUCache } from 'lru-cache'
import type { Call, RunningCall, SessionAffinity } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Operation } from '../../core/hub/operation.ts'
import { isTrace } from '../../core/ledger/session-id.ts'
import { sealingTenantOf } from '../../core/sealed-item.ts'
import type { SessionKey, SharedPins } from '../../core/session-pins.ts'
import type { Clock } from '../../lib/clock.ts'
import { entryLimit } from '../../lib/entry-limit.ts'
import { conversationHash } from './session-fingerprint.ts'

/** What has a prompt that grows. */
const operations: ReadonlySet<Operation> = new Set(['chat', 'completions'])
/** Pins that are kept in memory, of some 100 bytes each. */
const pinsMax = 50_000
/** A pin is told again after this part of its time. */
const toldShare = 0.25

interface Pin {
  deploymentId: string
  usedMs: number
  /** When other replicas were last told; -Infinity = they were not. */
  toldMs: number
}

/** Those of one process. */
export class SessionPins {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #shared: SharedPins | undefined
  readonly #pins = new LRUCache<SessionKey, Pin>(entryLimit(pinsMax))
  readonly #marks = new WeakMap<Deployment, Marks>()

  constructor(clock: Pick<Clock, 'monotonicMs'>, shared?: SharedPins) {
    this.#clock = clock
    this.#shared = shared
    shared?.follow(({ key, deploymentId, ageMs }) => {
      const usedMs = clock.monotonicMs() - ageMs
      const known = this.#pins.peek(key)
      if (known && known.usedMs > usedMs && known.deploymentId !== deploymentId) return
      this.#pins.set(key, { deploymentId, usedMs, toldMs: usedMs })
    })
  }

  /** How the turns of the call's session are kept together; undefined = it has none, or they are not. */
  affinityOf(call: RunningCall): SessionAffinity | undefined {
    if (call.affinity === undefined) call.affinity = affinityOf(call) ?? null
    return call.affinity ?? undefined
  }

  /** The one of `level` that served the session's last turn; undefined = none of them did, or it is too long ago. */
  pinned({ hash, ttlMs }: SessionAffinity, level: readonly Deployment[]): Deployment | undefined {
    if (this.#pins.size === 0) return undefined
    const pin = this.#pins.get(this.#keyOf(hash, level[0]!))
    if (!pin || this.#clock.monotonicMs() - pin.usedMs > ttlMs) return undefined
    return level.find(one => one.id === pin.deploymentId)
  }

  /** The one of `level` that the hash says, each as often as its weight. Rendezvous hashing: others do not move. */
  byHash({ hash }: SessionAffinity, level: readonly Deployment[]): Deployment {
    let best = level[0]!
    let least = Infinity
    for (const one of level) {
      const cost = -Math.log((mixed(hash ^ this.#marksOf(one).id) + 0.5) / 2 ** 32) / one.weight
      if (cost < least) {
        least = cost
        best = one
      }
    }
    return best
  }

  /** The deployment has answered a turn. `home` = where the hash says that the session is when all are well. */
  served(call: Call, deployment: Deployment): void {
    const { affinity } = call
    if (!affinity) return
    const key = this.#keyOf(affinity.hash, deployment)
    const nowMs = this.#clock.monotonicMs()
    const known = this.#pins.get(key)
    const isHome = affinity.homeId === deployment.id
    // Where nothing is known, every replica finds the session at home.
    if (!known && isHome && !affinity.isNamed) return
    const isMoved = known === undefined ? !isHome : known.deploymentId !== deployment.id
    const pin = known ?? { deploymentId: deployment.id, usedMs: nowMs, toldMs: -Infinity }
    pin.deploymentId = deployment.id
    pin.usedMs = nowMs
    if (!known) this.#pins.set(key, pin)
    const isTold = pin.toldMs !== -Infinity
    if (!isMoved && !(isTold && nowMs - pin.toldMs > affinity.ttlMs * toldShare)) return
    pin.toldMs = nowMs
    this.#shared?.put(key, deployment.id, affinity.ttlMs)
  }

  #keyOf(hash: number, deployment: Deployment): SessionKey {
    return mixed(hash ^ this.#marksOf(deployment).name)
  }

  #marksOf(deployment: Deployment): Marks {
    const known = this.#marks.get(deployment)
    if (known) return known
    const marks = { id: hashOf(deployment.id, 1), name: hashOf(deployment.modelName, 2) }
    this.#marks.set(deployment, marks)
    return marks
  }
}

/** Of a deployment, as numbers of 32 bits. */
interface Marks {
  readonly id: number
  readonly name: number
}

const hashOf = (text: string, seed: number): number => Bun.hash.xxHash32(text, seed)

/** Spreads the bits of a number of 32 bits (the last step of MurmurHash3). */
function mixed(value: number): number {
  let bits = value >>> 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}

function affinityOf(call: Call): SessionAffinity | undefined {
  const { affinityMs: ttlMs } = call.models.settings.router
  if (ttlMs === undefined || !operations.has(call.operation)) return undefined
  const { sessionId, body } = call
  const isNamed = sessionId !== null && !isTrace(sessionId, call)
  const tenant = hashOf(sealingTenantOf(call.caller), 3)
  const hash = isNamed ? hashOf(sessionId, tenant) : body && conversationHash(body, tenant)
  return hash === undefined ? undefined : { hash, isNamed, ttlMs, homeId: '' }
}
