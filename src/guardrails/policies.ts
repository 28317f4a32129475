/** Guardrails as policies: they read every call that they hold for, of any dialect, lane and operation. */
import type { Call } from '../core/call.ts'
import { masterCaller } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { GuardrailSettings, GuardrailTrials } from '../core/guardrails.ts'
import type { Policy } from '../core/policy.ts'
import type { CallGuards, GuardrailParts } from './call-guards.ts'

/** Calls that guardrails make themselves: no guardrail holds for them, or they would never end. */
export const guardrailCaller: Caller = { ...masterCaller, key: { ...masterCaller.key, alias: 'guardrails' } }

/** What reads and judges calls is loaded when there is a guardrail: see docs/decisions/0083. */
export class Guardrails {
  readonly #parts: GuardrailParts
  #guards: CallGuards | undefined

  constructor(parts: GuardrailParts) {
    this.#parts = parts
  }

  /** To be put before the policies that count and limit, in this order. */
  policies(): readonly Policy[] {
    return [
      {
        name: 'guardrails',
        stage: 'body',
        admit: call => this.#admit(call),
        answer: call => this.#guards?.searchFilter(call),
        answerTexts: call => this.#guards?.changeTexts(call),
      },
      { name: 'guardrail-windows', stage: 'body', answer: call => this.#guards?.windowFilter(call) },
      { name: 'guardrail-judges', stage: 'body', answer: call => this.#guards?.judgeFilter(call) },
      { name: 'guardrail-restore', stage: 'body', answer: call => this.#guards?.restoreFilter(call) },
    ]
  }

  /** Tries guardrails on samples. */
  trials(): GuardrailTrials {
    return {
      tryOut: async (...sample) => {
        const [guards, { createTrials }] = await Promise.all([this.load(), import('./trials.ts')])
        return createTrials(guards, this.#parts.budgets).tryOut(...sample)
      },
    }
  }

  /** Before the first call that a guardrail holds for; otherwise that call waits for it. */
  async load(): Promise<CallGuards> {
    const loaded = await import('./call-guards.ts')
    return (this.#guards ??= new loaded.CallGuards(this.#parts))
  }

  #admit(call: Call): void | Promise<void> {
    const { guardrails: all = none } = call.models.settings
    if (all.length === 0 && !demandsAny(call)) return undefined
    if (call.caller === guardrailCaller) return undefined
    const chosen = chosenFor(call, all)
    if (chosen.length === 0) return undefined
    return this.#guards ? this.#guards.admit(call, chosen) : this.#admitLoaded(call, chosen)
  }

  async #admitLoaded(call: Call, chosen: readonly GuardrailSettings[]): Promise<void> {
    return (await this.load()).admit(call, chosen)
  }
}

const none: readonly GuardrailSettings[] = []
const ofAll = new WeakMap<readonly GuardrailSettings[], readonly GuardrailSettings[]>()

/** Those that hold for every call: one list for all of them. */
function demandedOfAll(all: readonly GuardrailSettings[]): readonly GuardrailSettings[] {
  let known = ofAll.get(all)
  if (!known) ofAll.set(all, (known = all.filter(one => one.defaultOn)))
  return known
}

const fallbacksDemandAny = ({ fallbacksInOrder, contextWindowFallbacks, contentPolicyFallbacks }: Call): boolean =>
  [fallbacksInOrder, contextWindowFallbacks, contentPolicyFallbacks].some(models =>
    models.some(({ deployments }) => deployments.some(one => one.guardrails !== undefined)),
  )

function demandsAny({ caller, overrides, candidates }: Call): boolean {
  const { key, team } = caller
  if (key.guardrails.length > 0 || overrides.guardrails !== undefined) return true
  return (team !== undefined && team.guardrails.length > 0) || candidates.some(one => one.guardrails !== undefined)
}

/**
 * Those that the operator demands of every call, and those of the key, its team, the models that may serve it and the
 * request: nothing takes one away. Throws `unprocessable` for a name of the request that does not exist, `internal`
 * for another: a call that should be guarded must not go out without.
 */
function chosenFor(call: Call, all: readonly GuardrailSettings[]): readonly GuardrailSettings[] {
  const { caller, overrides } = call
  if (!demandsAny(call) && !fallbacksDemandAny(call)) return demandedOfAll(all)
  const requested = overrides.guardrails ?? []
  const names = new Set(all.map(one => one.name))
  const unknown = requested.findIndex(name => !names.has(name))
  if (unknown >= 0)
    throw unprocessable([
      {
        loc: ['body', 'guardrails', unknown],
        msg: `no guardrail is named '${requested[unknown]!.slice(0, 100)}'; GET /guardrails/list names them`,
        type: 'unknown_value',
      },
    ])
  const models = [call.fallbacksInOrder, call.contextWindowFallbacks, call.contentPolicyFallbacks].flat()
  const deployments = [...call.candidates, ...models.flatMap(one => one.deployments)]
  const demanded = new Set([
    ...caller.key.guardrails,
    ...(caller.team?.guardrails ?? []),
    ...deployments.flatMap((one: Deployment) => one.guardrails ?? []),
  ])
  for (const name of demanded)
    if (!names.has(name))
      throw new GatewayError(
        'internal',
        `the guardrail '${name}', which holds for this call, is not configured; an administrator has to make it, or ` +
          'to take its name out of the key, team or model',
      )
  return all.filter(one => one.defaultOn || demanded.has(one.name) || requested.includes(one.name))
}
