/**
 * Sends rows of the ledger to a webhook, to Stripe and to sinks, again until they have arrived; copies have the same
 * id.
 */
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'
import { toGatewayError } from '../core/errors.ts'
import type { Transport } from '../core/transport.ts'
import type { ExportDestination, StripeMeter, UsageExportSettings } from '../core/ledger/usage-export.ts'
import type { Sink } from '../core/ledger/sink.ts'
import type { SinkSettings } from '../core/ledger/sinks.ts'
import type { GivenUpRow, UsageOutbox, WaitingRow } from '../core/ledger/usage-outbox.ts'
import type { Clock } from '../lib/clock.ts'
import { webhookBody } from '../sinks/http-services.ts'
import { openSink } from '../sinks/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { webhookHeaders } from '../lib/webhook-signature.ts'

const pollMs = 1000
const timeouts = { connectMs: 5000, firstByteMs: 20_000, idleMs: 10_000, totalMs: 30_000 }
/** Longer than a delivery takes, and more than clocks of replicas differ. */
const leaseMs = 45_000
const answerBytesMax = 64 * 1024
/** Rows that are sent at the same time: in one request to the webhook; to Stripe in one request each. */
const [webhookRows, stripeRows] = [200, 8]
const firstPauseMs = 1000
const pauseMsMax = 600_000
const reportEveryMs = 60_000
/** Stripe takes events of 35 days (docs.stripe.com/api/billing/meter-event/create, `timestamp`, 2026-11-25). */
const stripeAgeMaxMs = 35 * 86_400_000

/** What the export works with. */
interface ExportParts {
  readonly outbox: UsageOutbox
  readonly transport: Transport
  readonly clock: Clock
  readonly logger: Logger
  readonly environment: Readonly<Record<string, string | undefined>>
  /** As configured now; null = nothing is exported. */
  settings(): UsageExportSettings | null
}

/** Runs until `stop`, which resolves when no request is open. */
export interface UsageExport {
  /** From then on rows that are stored are sent. Never rejects: a database that is away is asked again. */
  begin(): Promise<void>
  stop(): Promise<void>
}

/** Looks for rows once a second. Several replicas send different rows at the same time. */
export function exportUsage(parts: ExportParts): UsageExport {
  const worker = new ExportWorker(parts)
  let running = Promise.resolve()
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    running = worker.round().finally(() => (isRunning = false))
  }, pollMs)
  timer.unref()
  return {
    begin: () => worker.begin(),
    stop() {
      clearInterval(timer)
      worker.stopped = true
      return running
    },
  }
}

class ExportWorker {
  stopped = false
  readonly #parts: ExportParts
  readonly #owner = crypto.randomUUID()
  readonly #reportedMs = new Map<string, number>()
  #used: string | undefined
  readonly #sinks = new Map<ExportDestination, { readonly settings: SinkSettings; readonly sink: Sink }>()

  constructor(parts: ExportParts) {
    this.#parts = parts
  }

  begin(): Promise<void> {
    const settings = this.#parts.settings()
    return this.#use(settings ? destinationsOf(settings) : []).catch(error => this.#tellAway(error))
  }

  async #use(wanted: readonly ExportDestination[]): Promise<void> {
    if (this.#used === wanted.join()) return
    await this.#parts.outbox.use(wanted)
    this.#used = wanted.join()
  }

  #tellAway(error: unknown): void {
    this.#logFailure('outbox', 'usage cannot be exported now', { reason: toGatewayError(error).message })
  }

  /** Never rejects. */
  async round(): Promise<void> {
    const settings = this.#parts.settings()
    const wanted = settings ? destinationsOf(settings) : []
    try {
      await this.#use(wanted)
      if (!settings || wanted.length === 0) return
      await this.#parts.outbox.measure(settings.waitingMax)
      for (const { destination, waiting, skipped } of this.#parts.outbox.state())
        if (waiting >= settings.waitingMax)
          this.#logFailure(destination, 'usage is not exported any more, too many rows wait', { waiting, skipped })
      await Promise.all(wanted.map(destination => this.#drain(destination, settings)))
    } catch (error) {
      this.#tellAway(error)
    }
  }

  /** Until nothing is due, or one delivery fails. */
  async #drain(destination: ExportDestination, settings: UsageExportSettings): Promise<void> {
    const { outbox, clock } = this.#parts
    while (!this.stopped) {
      const nowMs = clock.epochMs()
      const rows = await outbox.lease({
        destination,
        owner: this.#owner,
        nowMs,
        leaseMs,
        limit: this.#sinkOf(destination, settings)?.rowsMax ?? (destination === 'webhook' ? webhookRows : stripeRows),
      })
      if (rows.length === 0) return
      const late = rows.flatMap(one => givenUpAs(destination, settings, one, nowMs) ?? [])
      if (late.length > 0) await this.#giveUp(destination, late)
      const sent = rows.filter(one => !late.some(({ id }) => id === one.id))
      const arrived = await this.#deliver(destination, settings, sent)
      await outbox.delivered(
        destination,
        sent.filter(one => arrived.has(one.id)).map(one => one.id),
      )
      const failed = sent.filter(one => !arrived.has(one.id))
      for (const [attempts, some] of Map.groupBy(failed, one => one.attempts))
        await outbox.failed(
          destination,
          some.map(one => one.id),
          clock.epochMs() + Math.min(firstPauseMs * 2 ** Math.min(attempts, 20), pauseMsMax),
        )
      if (failed.length > 0) return
    }
  }

  async #giveUp(destination: ExportDestination, late: readonly GivenUpRow[]): Promise<void> {
    await this.#parts.outbox.giveUp(destination, late, this.#parts.clock.epochMs())
    this.#logFailure(destination, 'usage was given up and will not be sent; the table usage_given_up has the rows', {
      rows: late.length,
      request_id: late[0]!.id,
      reason: late[0]!.reason,
    })
  }

  /** The ids of what has arrived, and of what is not to be sent. */
  async #deliver(
    destination: ExportDestination,
    settings: UsageExportSettings,
    waiting: readonly WaitingRow[],
  ): Promise<ReadonlySet<string>> {
    const sent = waiting.flatMap(({ row, attempts }) => (row ? [{ row, attempts }] : []))
    const rows = sent.map(one => one.row)
    const arrived = new Set<string>()
    const note = async (some: readonly LedgerRow[], send: () => Promise<void>) => {
      try {
        if (some.length > 0) await send()
        for (const row of some) arrived.add(row.request_id)
      } catch (error) {
        this.#logFailure(destination, 'usage could not be delivered, and will be again', {
          rows: some.length,
          reason: toGatewayError(error).message,
        })
      }
    }
    const sink = this.#sinkOf(destination, settings)
    if (sink) await note(rows, () => sink.send(rows))
    else if (destination === 'webhook') await note(rows, () => this.#toWebhook(settings.webhookUrl!, rows))
    else await Promise.all(sent.map(one => note([one.row], () => this.#toStripe(settings.stripe!, one))))
    return arrived
  }

  /** undefined = it is none of the sinks. */
  #sinkOf(destination: ExportDestination, { sinks }: UsageExportSettings): Sink | undefined {
    const settings = sinks.find(one => destinationOf(one) === destination)
    if (!settings) return undefined
    const open = this.#sinks.get(destination)
    if (open && Bun.deepEquals(open.settings, settings)) return open.sink
    const { transport, clock } = this.#parts
    const sink = openSink({ transport, epochMs: () => clock.epochMs() }, settings)
    this.#sinks.set(destination, { settings, sink })
    return sink
  }

  async #toWebhook(url: string, rows: readonly LedgerRow[]): Promise<void> {
    const { clock, environment } = this.#parts
    const id = `usage_${crypto.randomUUID()}`
    const body = Buffer.from(webhookBody(rows))
    const headers = webhookHeaders(environment.USAGE_EXPORT_WEBHOOK_SECRET, { id, atMs: clock.epochMs(), body })
    const answer = await this.#post(url, body, headers)
    if (answer.status < 200 || answer.status >= 300) throw new Error(`it answered with status ${answer.status}`)
  }

  /**
   * docs.stripe.com/api/billing/meter-event/create and /api/idempotent_requests, 2026-11-25. Where an answer was lost,
   * the same idempotency key gets it again. A failure is repeated under that key too: then another key asks anew, and
   * the `identifier` alone shows whether the event had arrived.
   */
  async #toStripe(meter: StripeMeter, { row, attempts }: { row: LedgerRow; attempts: number }): Promise<void> {
    const { environment } = this.#parts
    const billed = billedOf(row, meter)
    if (!billed) return
    const { customer, value } = billed
    const form = new URLSearchParams({
      event_name: meter.eventName,
      identifier: row.request_id,
      timestamp: String(Math.floor(row.started_at_ms / 1000)),
      'payload[stripe_customer_id]': customer,
      'payload[value]': value,
    })
    const url = new URL('/v1/billing/meter_events', meter.baseUrl)
    const post = (idempotencyKey: string) =>
      this.#post(url.href, Buffer.from(form.toString()), {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Bearer ${environment.STRIPE_API_KEY ?? ''}`,
        'idempotency-key': idempotencyKey,
      })
    const first = await post(row.request_id)
    const { status, text } =
      first.status >= 500 && first.isReplayed ? await post(`${row.request_id}:${attempts}`) : first
    if (status >= 200 && status < 300) return
    if (status === 400 && isDuplicate(text, row.request_id)) return
    throw new Error(`Stripe answered with status ${status}: ${text.slice(0, 200)}`)
  }

  async #post(url: string, body: Uint8Array, headers: Record<string, string>) {
    const head = { url, headers }
    const answer = await this.#parts.transport.send({ method: 'POST', head, body: [body], timeouts }).response
    return {
      status: answer.status,
      text: Buffer.from(await answer.body.bytes(answerBytesMax)).toString('utf8'),
      isReplayed: answer.header('idempotent-replayed') === 'true',
    }
  }

  /** Writes a failure into the log, the same one once a minute at most. */
  #logFailure(about: string, message: string, fields: Record<string, unknown>): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (nowMs - (this.#reportedMs.get(about + message) ?? -Infinity) < reportEveryMs) return
    this.#reportedMs.set(about + message, nowMs)
    this.#parts.logger.error(message, { destination: about, ...fields })
  }
}

const destinationOf = ({ name }: SinkSettings): ExportDestination => `sink:${name}`

function destinationsOf({ webhookUrl, stripe, sinks }: UsageExportSettings): ExportDestination[] {
  return [
    ...(webhookUrl === null ? [] : ['webhook']),
    ...(stripe === null ? [] : ['stripe']),
    ...sinks.map(destinationOf),
  ]
}

/**
 * Whether Stripe says that it has an event with this identifier: by the code of its API v2 (schema
 * `v2.error.duplicate_meter_event` of github.com/stripe/openapi, 2026-11-25), or, as v1 has no code for it, in a
 * sentence that names the identifier (langfuse/langfuse pull request 16292, 2026-08-19).
 */
function isDuplicate(text: string, identifier: string): boolean {
  let error: { readonly code?: unknown; readonly message?: unknown } | undefined
  try {
    error = (JSON.parse(text) as { error?: typeof error }).error
  } catch {
    return false
  }
  if (error?.code) return error.code === 'duplicate_meter_event'
  return String(error?.message).includes(`already exists with identifier ${identifier}`)
}

/** What is sent to Stripe of a row; undefined = it is of no customer, or nothing that is billed. */
function billedOf(row: LedgerRow, meter: StripeMeter): { customer: string; value: string } | undefined {
  const [customer, value] = [row[meter.customer], meteredOf(row, meter.value)]
  return customer && value !== null && value !== '0' ? { customer, value } : undefined
}

/** undefined = it can still be sent. An attempt whose answer was lost may have arrived all the same. */
function givenUpAs(
  destination: ExportDestination,
  { stripe }: UsageExportSettings,
  { id, attempts, row }: WaitingRow,
  nowMs: number,
): GivenUpRow | undefined {
  if (row === null) {
    const reason = 'the row was deleted from the ledger before it could be sent'
    return { id, attempts, reason, startedAtMs: null, customer: null, amount: null }
  }
  const billed = destination === 'stripe' && stripe ? billedOf(row, stripe) : undefined
  if (!billed || nowMs - row.started_at_ms <= stripeAgeMaxMs) return undefined
  const reason = 'Stripe takes no events older than 35 days'
  return { id, attempts, reason, startedAtMs: row.started_at_ms, customer: billed.customer, amount: billed.value }
}

/** A whole number as decimal text; null = it is not known. */
function meteredOf(row: LedgerRow, value: StripeMeter['value']): string | null {
  if (value === 'requests') return '1'
  if (value === 'cost_nano_usd') return row.cost_nano_usd
  if (value === 'total_tokens') return String((row.input_tokens ?? 0) + (row.output_tokens ?? 0))
  return row[value] === null ? null : String(row[value])
}
