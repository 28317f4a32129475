/** The lines of a batch's output file (OpenAI, "Batch API", "Retrieve the results"), each priced by itself. */
import { costNanoUsd, isFree } from '../pricing/cost.ts'
import { pricesAt } from '../pricing/price-variants.ts'
import { streamOf } from '../core/answer.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Services } from '../core/endpoint.ts'
import { namedError } from '../core/dialects/classify.ts'
import { GatewayError } from '../core/errors.ts'
import { readChunkUsage } from '../core/usage/openai-usage.ts'
import { readResponsesUsage } from '../core/usage/responses-usage.ts'
import { membersOf } from '../core/usage/usage-fields.ts'
import { addUsage } from '../core/usage/usage-sum.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { Usage } from '../core/usage/usage.ts'
import type { Client } from '../core/request.ts'
import { isObject } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'

/** OpenAI's limit of a file. */
const fileBytesMax = 512 * 1024 * 1024
/** Above the largest answer of a model. */
const lineBytesMax = 16 * 1024 * 1024
/** OpenAI's limit of the requests of a batch. */
const linesMax = 50_000
/** Well below the lease with which one replica settles a batch. */
const totalMs = 45_000

/** What all lines used, and cost together; null = the cost of one of them is not known. */
export interface PricedLines {
  readonly usage: Usage | undefined
  readonly costNanoUsd: bigint | null
  /** Of the lines of each deployment; 0 where it has none. */
  readonly costs: ReadonlyMap<Deployment, bigint | null>
}

/** The file, where it is, and what prices its lines. */
export interface BatchOutput {
  /** Waits for the file. */
  readonly request: Client
  /** The upstream of the batch. */
  readonly deployment: Deployment
  /** The upstream's id of the file. */
  readonly fileId: string
  /** The deployments of the models that the lines call. */
  readonly models: readonly Deployment[]
  /** When the batch began, in milliseconds since 1970. */
  readonly atMs: number
  /** How many requests have an answer, by the batch itself; undefined = it does not say. */
  readonly completed: number | undefined
}

/** Whether the request was done: one that failed costs nothing, also where its error is inside of a 200. */
function isAnswered({ response }: Json): boolean {
  const { status_code: status, body } = membersOf(response)
  return status === 200 && !namedError(body)
}

/** The usage of a line's answer as part of a batch; undefined = it has none that is plausible. */
function lineUsage(line: Json): Usage | undefined {
  const response = membersOf(line.response)
  const body = membersOf(response.body)
  const usage = readChunkUsage(body) ?? readResponsesUsage(name => body[name])
  return usage && { ...usage, served: { serviceTier: 'batch' } }
}

/**
 * Reads the whole file. Rejects with the upstream's error; with `upstream-broken` for one that is too large or not
 * JSON, with `upstream-closed` for one that is cut.
 */
export async function pricedLines(services: Pick<Services, 'fileCalls'>, output: BatchOutput): Promise<PricedLines> {
  const path = `/files/${encodeURIComponent(output.fileId)}/content`
  const { request, deployment } = output
  const content = await services.fileCalls.content({
    request,
    deployment,
    method: 'GET',
    path,
    totalMs,
    outlivesClient: true,
  })
  let usage: Usage | undefined
  let total: bigint | null = 0n
  const costs = new Map<Deployment, bigint | null>(output.models.map(model => [model, 0n]))
  const answered = new Set<unknown>()
  for await (const line of linesOf(streamOf(content.stream)!)) {
    // A line that is there twice was one request.
    if (answered.has(line.custom_id)) continue
    if (answered.size === linesMax) throw broken('has more lines than a batch has requests')
    answered.add(line.custom_id ?? answered.size)
    const used = lineUsage(line)
    if (!used && !isAnswered(line)) continue
    if (used) usage = addUsage(usage, used)
    const model = modelOf(line, output.models)
    const cost: bigint | null = model ? lineCost(used, model.prices, output.atMs) : null
    total = sumOf(total, cost)
    if (model) costs.set(model, sumOf(costs.get(model)!, cost))
  }
  if (answered.size < (output.completed ?? 0)) throw cut()
  return { usage, costNanoUsd: total, costs }
}

/** null = not known: an answer without a usage that is plausible, of a model that is not free. */
function lineCost(used: Usage | undefined, prices: Prices | null, atMs: number): bigint | null {
  if (used) return costNanoUsd(used, prices, { atMs })
  return prices && isFree(pricesAt(prices, atMs)) ? 0n : null
}

const sumOf = (one: bigint | null, other: bigint | null) => (one === null || other === null ? null : one + other)

/** A single model is every line's; of several it is the one that the answer names, with its date or without. */
function modelOf(line: Json, models: readonly Deployment[]): Deployment | undefined {
  if (models.length === 1) return models[0]
  const named = String(membersOf(membersOf(line.response).body).model)
  const fits = models.filter(({ target }) => named === target.model || isDated(named, target.model))
  return fits.length === 1 ? fits[0] : undefined
}

const isDated = (named: string, model: string): boolean =>
  named.startsWith(`${model}-`) && /^\d{4}-\d\d-\d\d$/.test(named.slice(model.length + 1))

/** The JSON objects of a file with one in each line; other lines are an error. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Json> {
  let rest = ''
  let bytes = 0
  const decoder = new TextDecoder()
  for await (const piece of piecesOf(stream)) {
    bytes += piece.length
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop()!
    if (bytes > fileBytesMax || rest.length > lineBytesMax) throw broken('is too large')
    for (const line of lines) if (line.trim() !== '') yield objectIn(line)
  }
  if (rest.trim() !== '') yield objectIn(rest)
}

async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream as unknown as AsyncIterable<Uint8Array>
  } catch (cause) {
    throw cut(cause)
  }
}

function objectIn(line: string): Json {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw broken('has a line that is no JSON')
  }
  if (!isObject(value)) throw broken('has a line that is no JSON object')
  return value
}

const cut = (cause?: unknown) =>
  new GatewayError('upstream-closed', 'the output of the batch is cut: lines are missing', { cause })
const broken = (how: string) => new GatewayError('upstream-broken', `the output of the batch ${how}`)
