/** What the gateway reads of an answer, on both of its lanes, and what it makes of it. */
import { requestCost } from '../../src/pricing/request-cost.ts'
import { catalogPrices } from '../../src/config/prices/prices.ts'
import { placeOf } from '../../src/config/prices/place-names.ts'
import { pricesInPlace } from '../../src/config/prices/place-premiums.ts'
import type { ChatEvent } from '../../src/core/hub/chat.ts'
import type { Deployment } from '../../src/core/deployment.ts'
import type { ForwardRules } from '../../src/core/format.ts'
import type { ChatAdapter, Provider } from '../../src/core/provider.ts'
import type { RequestCost } from '../../src/core/usage/request-cost.ts'
import type { AnswerHead } from '../../src/core/transport.ts'
import type { Usage } from '../../src/core/usage/usage.ts'
import {
  anthropicMessages,
  geminiGenerate,
  openaiChat,
  openaiImages,
  openaiResponses,
  openaiTranscriptions,
} from '../../src/formats/index.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { withServed } from '../../src/pipeline/settlement/served-tier.ts'
import { providers } from '../../src/providers/index.ts'
import { targetOf } from '../support/provider-rig.ts'
import type { Bill, Wording } from './bill.ts'

const forward: Readonly<Partial<Record<Wording, Pick<ForwardRules, 'answer'>>>> = {
  chat: openaiChat.forward,
  responses: openaiResponses.forward,
  messages: anthropicMessages.forward,
  gemini: geminiGenerate.forward,
  images: openaiImages.forward,
  transcription: openaiTranscriptions.forward,
}

const providerOf = ({ provider }: Bill): Provider => providers.get(provider)!

function targetFor(bill: Bill) {
  const { model, options = {}, baseUrl } = bill
  return targetOf(providerOf(bill), { model, options, ...(baseUrl !== undefined && { baseUrl }) })
}

function adapterOf(bill: Bill): ChatAdapter | undefined {
  const provider = providerOf(bill)
  if (bill.wording === 'images' || bill.wording === 'transcription') return undefined
  return bill.wording === 'responses' ? provider.chatByResponses?.(targetFor(bill)) : provider.chat
}

const json: AnswerHead = { header: name => (name === 'content-type' ? 'application/json' : undefined) }

/** The usage on the forward lane and on the translate lane; a lane that has no such answers is left out. */
export function usageOnLanes(bill: Bill): Usage[] {
  const bytes = Buffer.from(JSON.stringify(bill.answer))
  const { usage: forwarded } = forward[bill.wording]?.answer(bytes, 'public', json) ?? {}
  const events = adapterOf(bill)?.result(structuredClone(bill.answer)) ?? []
  const isUsage = (event: ChatEvent): event is Extract<ChatEvent, { type: 'usage' }> => event.type === 'usage'
  return [forwarded, events.findLast(isUsage)?.usage].filter(usage => usage !== undefined)
}

/** The cost by the built-in price list. */
export function costOfBill(bill: Bill, usage: Usage): RequestCost {
  const { asked = {}, answeredTier, inBatch, at = '2026-11-23T12:00:00Z', seconds = 1 } = bill
  const body = JsonBody.read(Buffer.from(JSON.stringify(asked)))
  const served = withServed({ body }, { dropped: [], answeredTier, deployment: undefined }, usage)
  const target = targetFor(bill)
  const place = placeOf(bill.provider, target.options)
  const listed = { prices: catalogPrices(bill.provider, bill.model, place), priceSource: 'catalogue' as const }
  const deployment = { ...listed, target, prices: pricesInPlace(listed, target) } as unknown as Deployment
  const atMs = Date.parse(at)
  const { model: answeredModel } = bill.answer
  const routed = deployment.prices?.isFee && typeof answeredModel === 'string' ? { routedModel: answeredModel } : {}
  const billed = inBatch ? { ...served, served: { serviceTier: 'batch' } } : served
  return requestCost({ ...billed, ...routed }, deployment, { atMs, endedAtMs: atMs + seconds * 1000 }, catalogPrices)
}
