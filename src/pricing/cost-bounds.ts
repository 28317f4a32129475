/**
 * What a call may cost at most, before it is made: the reservation of budgets, and of policies that refuse dear calls.
 */
import type { Call, CallBounds } from '../core/call.ts'
import { credentialFor } from '../core/client-credential.ts'
import { GatewayError } from '../core/errors.ts'
import { requestedOutput } from '../core/hub/requested-output.ts'
import type { ChatRequest, Part, Source } from '../core/hub/chat.ts'
import type { CallInput } from '../core/hub/input.ts'
import type { Deployment } from '../core/deployment.ts'
import { requestedService } from '../core/usage/requested-service.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Served } from '../core/usage/usage.ts'
import { isFree } from './cost.ts'
import { regionPercentMax, pricesAt, variantsFor } from './price-variants.ts'
import { letsVendorAct, namesStoredInput } from './vendor-tools.ts'

/**
 * The dearest picture of the vendors' rules is below this (OpenAI, "Images and vision", gpt-4o-mini: 48,169 tokens).
 */
const pictureTokensMax = 50_000
/**
 * Vendors put instructions of their own around tools and schemas (Anthropic, "Tool use", pricing: up to 530 tokens),
 * and so does the gateway for models that know neither.
 */
const instructionTokensMax = 2000
const unitsPerPrice = 1_000_000n
const scale = Number(unitsPerPrice)

/**
 * Over the candidates and all fallbacks: one of them answers. A token is at least one byte, so that the bytes of the
 * body bound the tokens of its text, or what was measured of it (`Call.measuredInput`); where a document or a file is
 * only referred to, the context window of the model does. `maxOutputTokens`: as if a chat asked for so many at most.
 */
export function costBounds(call: Call, maxOutputTokens?: number): CallBounds {
  const deployments = deploymentsOf(call)
  const requestedDemand = demandOf(call)
  const demand =
    maxOutputTokens === undefined
      ? requestedDemand
      : { ...requestedDemand, outputTokens: maxOutputTokens * requestedDemand.answers }
  let inputTokensMax = 0
  let outputTokensMax: number | null = 0
  let costNanoUsdMax: bigint | null = deployments.length === 0 ? null : 0n
  for (const deployment of deployments) {
    const input = inputBound(demand, deployment, call.measuredInput)
    const output = outputBound(demand, deployment)
    const cost = credentialFor(call, deployment)
      ? 0n
      : costBound(deployment, { input, output, demand, atMs: call.startedAtMs })
    inputTokensMax = Math.max(inputTokensMax, input ?? call.body?.size ?? 0)
    outputTokensMax = output === null || outputTokensMax === null ? null : Math.max(outputTokensMax, output)
    costNanoUsdMax = cost === null || costNanoUsdMax === null ? null : cost > costNanoUsdMax ? cost : costNanoUsdMax
  }
  return { inputTokensMax, outputTokensMax, costNanoUsdMax }
}

/** Each once. */
function deploymentsOf({
  candidates,
  fallbacksInOrder,
  contextWindowFallbacks,
  contentPolicyFallbacks,
}: Call): readonly Deployment[] {
  if (fallbacksInOrder.length + contextWindowFallbacks.length + contentPolicyFallbacks.length === 0) return candidates
  const others = [...fallbacksInOrder, ...contextWindowFallbacks, ...contentPolicyFallbacks].flatMap(
    one => one.deployments,
  )
  return [...new Set([...candidates, ...others])]
}

/** What a call asks for, as far as its price depends on it. */
interface Demand {
  /** null = not bounded by the body: it refers to documents that it does not hold. */
  readonly inputBytes: number | null
  /** Tokens of the input beside its bytes: pictures, and instructions that others put around it. */
  readonly otherTokens: number
  /** Of all answers together; null = as the model is able to; 0 = none. */
  readonly outputTokens: number | null
  readonly answers: number
  readonly images: number
  readonly characters: number
  /** Sound of unknown length, documents of a reranker, tools of the vendor: units that the request does not name. */
  readonly unknownUnits: boolean
  /** How it asks to be served. */
  readonly service: Served
  /** It is served as part of a batch, and no otherwise. */
  readonly isBatched: boolean
}

const defaultService: Served = {}
const nothingDropped: readonly string[] = []

const nothing: Demand = {
  inputBytes: 0,
  otherTokens: 0,
  outputTokens: 0,
  answers: 1,
  images: 0,
  characters: 0,
  unknownUnits: false,
  service: defaultService,
  isBatched: false,
}

function demandOf(call: Call): Demand {
  if (!call.format || call.operation === 'count-tokens') return nothing
  const { body } = call
  const demand = inputDemand(call)
  if (!body) return demand
  const service = requestedServiceOf(body)
  const isStored = namesStoredInput(body)
  const unknownUnits = demand.unknownUnits || letsVendorAct(body)
  const isBatched = call.isBatchLine
  // Most calls have none of these: no copy is made.
  if (service === defaultService && !isStored && !isBatched && unknownUnits === demand.unknownUnits) return demand
  return { ...demand, ...(isStored && { inputBytes: null }), unknownUnits, isBatched, service }
}

function requestedServiceOf(body: JsonBody): Served {
  const serviceTier = requestedService(body, nothingDropped, 'serviceTier')
  const speed = requestedService(body, nothingDropped, 'speed')
  const region = requestedService(body, nothingDropped, 'region')
  if (serviceTier === undefined && speed === undefined && region === undefined) return defaultService
  return { ...(serviceTier && { serviceTier }), ...(speed && { speed }), ...(region && { region }) }
}

function inputDemand(call: Call): Demand {
  const bytes = call.body?.size ?? 0
  const { body, format } = call
  const plain = body && call.edits.length === 0 && format && 'plain' in format ? format.plain?.(body) : undefined
  if (plain) return demandOfChat({ bytes, others: 0 }, plain.maxOutputTokens, plain.choices)
  const input = readInput(call)
  if (!input) return unreadDemand(call)
  switch (input.kind) {
    case 'chat':
      return chatDemand(input.request, call.edits.length === 0 ? bytes : Math.max(bytes, jsonBytes(input.request)))
    case 'embeddings':
      return { ...nothing, inputBytes: bytes }
    case 'moderations':
      // A chat model that judges is asked in the gateway's words, and writes its verdict.
      if (call.candidates.some(({ profile }) => profile.guard))
        return { ...nothing, inputBytes: null, outputTokens: null, answers: input.request.inputs.length }
      return { ...nothing, inputBytes: bytes }
    case 'images': {
      const images = input.request.count ?? 1
      return { ...nothing, inputBytes: bytes, outputTokens: null, images, answers: images }
    }
    case 'speech':
      return { ...nothing, inputBytes: bytes, outputTokens: null, characters: input.request.input.length }
    default:
      return { ...nothing, inputBytes: null, outputTokens: null, unknownUnits: true }
  }
}

/**
 * undefined = only an upstream of the client's dialect can read this chat (videos, items of a vendor's tools): it goes
 * to one as it is, or is refused when it is sent.
 */
function readInput(call: Call): CallInput | undefined {
  try {
    return call.input()
  } catch (error) {
    const isChat = call.format !== undefined && 'writer' in call.format
    if (isChat && error instanceof GatewayError && error.kind !== 'internal') return undefined
    throw error
  }
}

/** A video or a picture that it refers to counts as the dearest picture: what it is, only the upstream sees. */
function unreadDemand({ body }: Call): Demand {
  const { answers, tokens } = requestedOutput(body)
  if (!body) return demandOfChat({ bytes: 0, others: 0 }, tokens, answers)
  const { buffer, byteOffset, byteLength } = body.bytes
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  const refers = bytes.includes('url') || bytes.includes('file')
  return demandOfChat({ bytes: byteLength, others: refers ? pictureTokensMax : 0 }, tokens, answers)
}

function chatDemand(request: ChatRequest, bytes: number): Demand {
  const { series } = request
  const found: FoundMedia = { pictures: 0, refers: false }
  for (const message of request.messages) find(found, message.parts)
  if (series) for (const messages of series) for (const message of messages) find(found, message.parts)
  const { pictures, refers } = found
  const instructs = request.tools !== undefined || (request.responseFormat?.type ?? 'text') !== 'text'
  const answers = (request.choices ?? 1) * (1 + (series?.length ?? 0))
  const others = pictures * pictureTokensMax + (instructs ? instructionTokensMax : 0)
  return demandOfChat({ bytes: refers ? null : bytes, others }, request.maxOutputTokens, answers)
}

interface ChatInput {
  readonly bytes: number | null
  readonly others: number
}

/** `maxOutputTokens`: of each answer; undefined = as the model is able to. */
function demandOfChat(input: ChatInput, maxOutputTokens: number | undefined, answers: number): Demand {
  const outputTokens = maxOutputTokens === undefined ? null : maxOutputTokens * answers
  // The fields of `nothing`, written out: spreading it would double what a call with a budget costs here.
  return {
    inputBytes: input.bytes,
    otherTokens: input.others,
    outputTokens,
    answers,
    images: 0,
    characters: 0,
    unknownUnits: false,
    service: defaultService,
    isBatched: false,
  }
}

interface FoundMedia {
  pictures: number
  /** To a document that is not text in the body. */
  refers: boolean
}

/** Counts, also inside the results of tools. Loops: every call with a budget passes here. */
function find(found: FoundMedia, parts: readonly Part[]): void {
  for (const part of parts)
    if (part.type === 'image') found.pictures++
    else if (part.type === 'tool-result') find(found, part.parts)
    else if (part.type === 'document' && !isInlineText(part.source)) found.refers = true
}

/** What a page of another kind holds, its bytes do not show: they are compressed. */
const isInlineText = (source: Source): boolean => 'data' in source && source.mediaType.startsWith('text/')

const jsonBytes = (request: ChatRequest): number => Buffer.byteLength(JSON.stringify(request))

function tokensOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.ceil(value) : null
}

function inputBound(
  { inputBytes, otherTokens, answers }: Demand,
  deployment: Deployment,
  measured: Call['measuredInput'],
): number | null {
  const { info } = deployment
  const window = tokensOf(info.max_input_tokens) ?? tokensOf(info.max_tokens)
  // Each of several prompts may fill the window.
  const most = window === null ? null : window * answers
  if (inputBytes === null) return most
  const texts = measured ? Math.min(inputBytes, measured.tokensAt(deployment)) : inputBytes
  return most === null ? texts + otherTokens : Math.min(texts + otherTokens, most)
}

function outputBound({ outputTokens, answers }: Demand, { info }: Deployment): number | null {
  if (outputTokens !== null) return outputTokens
  const able = tokensOf(info.max_output_tokens)
  return able === null ? null : able * answers
}

interface Bounded {
  readonly input: number | null
  readonly output: number | null
  readonly demand: Demand
  readonly atMs: number
}

/** null = not known. The dearest price of each kind counts for all of it, over every variant and tier in reach. */
function costBound({ prices }: Deployment, { input, output, demand, atMs }: Bounded): bigint | null {
  if (!prices) return null
  // Which model a router will choose, and so its price, is not known.
  if (prices.isFee) return null
  const now = pricesAt(prices, atMs)
  const plain = plainBound(now, input, output, demand)
  if (plain !== undefined) return plain
  const percent = regionPercentMax(now, demand.service.region, atMs)
  const variants = percent === null ? null : demand.isBatched ? batchPrices(now) : variantsFor(now, demand.service)
  if (!variants) return null
  let highest: bigint | null = null
  const bounds = { input, output, demand, atMs }
  for (const variant of variants)
    for (const one of reachable(variant, input)) {
      const cost = costAt(one, bounds)
      if (cost === null) return null
      if (highest === null || cost > highest) highest = cost
    }
  if (highest === null || percent === null || percent === 100) return highest
  return (highest * BigInt(percent) + 99n) / 100n
}

/** Prices of tokens and of the call, as numbers. */
interface PlainRates {
  /** They hold from so much input on. */
  readonly fromInputTokens: number
  readonly input: number
  readonly output: number
  readonly request: number
}

/** All that a call which asks for nothing but tokens may be charged at; undefined = other rules decide. */
const plainRatesKnown = new WeakMap<Prices, readonly PlainRates[] | null>()

function plainRatesOf(prices: Prices): readonly PlainRates[] | null {
  let rates = plainRatesKnown.get(prices)
  if (rates === undefined) {
    rates = compilePlainRates(prices)
    plainRatesKnown.set(prices, rates)
  }
  return rates
}

function compilePlainRates(prices: Prices): readonly PlainRates[] | null {
  if (regionPercentMax(prices, undefined, 0) !== 100) return null
  const rates: PlainRates[] = []
  for (const variant of variantsFor(prices, defaultService) ?? [])
    for (const { fromInputTokens, prices: one } of [
      { fromInputTokens: 0, prices: variant },
      ...(variant.tiers ?? []),
    ]) {
      if (one.input === undefined || one.output === undefined || one.searchUnit !== undefined) return null
      const { input, output } = highestTokenPrices(one)
      rates.push({
        fromInputTokens,
        input: Number(input),
        output: Number(output),
        request: Number(one.request ?? one.requestAtMost ?? 0n),
      })
    }
  return rates.length === 0 ? null : rates
}

/**
 * The bound of most calls, in numbers as far as these are exact: in integers of any length it takes 0.4 us, and leaves
 * ten objects behind. undefined = it has to be worked out by all rules.
 */
function plainBound(
  prices: Prices,
  input: number | null,
  output: number | null,
  { service, isBatched, images, characters, unknownUnits }: Demand,
): bigint | undefined {
  if (input === null || output === null || service !== defaultService || isBatched || unknownUnits) return undefined
  if (images > 0 || characters > 0) return undefined
  const rates = plainRatesOf(prices)
  if (!rates) return undefined
  let highest = 0
  for (const rate of rates) {
    if (input < rate.fromInputTokens) continue
    highest = Math.max(highest, input * rate.input + output * rate.output + rate.request)
  }
  // Rounded up, as `scaled` does.
  const rounded = highest + scale - 1
  return Number.isSafeInteger(rounded) ? BigInt((rounded - (rounded % scale)) / scale) : undefined
}

/** null = the vendor's price of batches is not known, which that of single calls does not determine. */
function batchPrices(prices: Prices): Prices[] | null {
  const { batch } = prices.variants ?? {}
  return batch ? [batch] : isFree(prices) ? [prices] : null
}

/** The prices, and those of the tiers that so much input may reach. */
function reachable(prices: Prices, input: number | null): Prices[] {
  if (!prices.tiers) return [prices]
  const tiers = prices.tiers.filter(tier => input === null || input >= tier.fromInputTokens)
  return [prices, ...tiers.map(tier => tier.prices)]
}

/** Tokens and other units are billed beside each other; where tokens have no price, the others alone. */
function costAt(prices: Prices, { input, output, demand }: Bounded): bigint | null {
  const { images, characters, unknownUnits } = demand
  // The request does not say how many of these units there will be; `requestAtMost` has them in it.
  if (unknownUnits && prices.requestAtMost === undefined) return null
  if (prices.searchUnit !== undefined || (characters > 0 && prices.audioSecond !== undefined)) return null
  const hasUnits = (images > 0 && prices.image !== undefined) || (characters > 0 && prices.character !== undefined)
  const hasTokens = prices.input !== undefined || prices.output !== undefined
  const tokens = hasUnits && !hasTokens ? 0n : tokenCost(prices, input, output)
  if (tokens === null) return null
  const units = hasUnits ? BigInt(images) * (prices.image ?? 0n) + BigInt(characters) * (prices.character ?? 0n) : 0n
  return scaled(units + tokens + (prices.request ?? prices.requestAtMost ?? 0n))
}

function tokenCost(prices: Prices, input: number | null, output: number | null): bigint | null {
  if (prices.input === undefined || (prices.output === undefined && output !== 0)) return null
  const highest = highestTokenPrices(prices)
  const inputCost = bounded(input, highest.input)
  const outputCost = bounded(output, highest.output)
  return inputCost === null || outputCost === null ? null : inputCost + outputCost
}

/** Prices do not change: each object is looked through once. */
const knownHighestPrices = new WeakMap<Prices, { readonly input: bigint; readonly output: bigint }>()

function highestTokenPrices(prices: Prices): { readonly input: bigint; readonly output: bigint } {
  let known = knownHighestPrices.get(prices)
  if (known === undefined) {
    const { output, reasoning, outputAudio, outputImage, outputVideo } = prices
    known = {
      input: highestOf([
        prices.input,
        prices.cacheRead,
        prices.cacheReadAudio,
        prices.cacheReadImage,
        prices.cacheReadExplicit,
        prices.cacheWrite,
        prices.cacheWriteOneHour,
        prices.cacheWriteTwelveHour,
        prices.inputAudio,
        prices.inputImage,
        prices.inputVideo,
      ]),
      output: highestOf([output, reasoning, outputAudio, outputImage, outputVideo]),
    }
    knownHighestPrices.set(prices, known)
  }
  return known
}

/** What is free costs nothing, however much it is. */
function bounded(tokens: number | null, price: bigint): bigint | null {
  if (price === 0n || tokens === 0) return 0n
  return tokens === null ? null : BigInt(tokens) * price
}

/** Rounded up: a bound. */
const scaled = (total: bigint): bigint => (total + unitsPerPrice - 1n) / unitsPerPrice

/** 0 where there is no price: nothing is then used. */
function highestOf(prices: readonly (bigint | undefined)[]): bigint {
  return prices.reduce<bigint>((highest, price) => (price !== undefined && price > highest ? price : highest), 0n)
}
