/** The metrics of finished calls by the GenAI conventions. All calls count, whether or not their spans are sent. */
import type { Attributes, Histogram, Meter } from '@opentelemetry/api'
import { known, operationOf, providerOf, serverOf } from './call-attributes.ts'
import { attribute, histograms } from './conventions.ts'
import type { CallRecord } from './call-record.ts'

/** `client` = what the gateway asks of upstreams, `server` = what it serves to its own clients. */
export class CallMetrics {
  readonly #of: Readonly<Record<keyof typeof histograms, Histogram>>

  constructor(meter: Meter) {
    const made = Object.entries(histograms).map(([key, { name, description, unit, bounds }]) => [
      key,
      meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries: [...bounds] } }),
    ])
    this.#of = Object.fromEntries(made) as Readonly<Record<keyof typeof histograms, Histogram>>
  }

  add(call: CallRecord): void {
    const last = this.#attempts(call)
    const served = known({
      [attribute.operationName]: operationOf(call.operation),
      [attribute.providerName]: last?.[attribute.providerName] ?? 'modelgate',
      // The configured name: clients could make any number of others.
      [attribute.requestModel]: call.modelName || undefined,
    })
    this.#of.requestDuration.record(call.durationMs / 1000, known({ ...served, [attribute.errorType]: call.error }))
    if (call.outcome !== 'success') return
    if (call.stream && call.firstByteMs !== undefined) {
      this.#of.timeToFirstToken.record(call.firstByteMs / 1000, served)
      const after = (call.outputTokens ?? 0) - 1
      if (after > 0) this.#of.timePerOutputToken.record((call.durationMs - call.firstByteMs) / 1000 / after, served)
    }
  }

  /** The attributes of the last one. */
  #attempts(call: CallRecord): Attributes | undefined {
    let last: Attributes | undefined
    for (const one of call.attempts) {
      last = {
        [attribute.operationName]: operationOf(call.operation),
        [attribute.providerName]: providerOf(one.provider),
        [attribute.requestModel]: one.model,
        ...serverOf(one.baseUrl),
      }
      this.#of.operationDuration.record(
        (one.toMs - one.fromMs) / 1000,
        known({ ...last, [attribute.errorType]: one.error }),
      )
    }
    if (!last || call.usageSource === 'none') return last
    if (call.inputTokens !== undefined)
      this.#of.tokenUsage.record(call.inputTokens, { ...last, [attribute.tokenType]: 'input' })
    if (call.outputTokens !== undefined)
      this.#of.tokenUsage.record(call.outputTokens, { ...last, [attribute.tokenType]: 'output' })
    return last
  }
}
