/** A second reader of the same answers: the AI SDK's packages count as the gateway does, or it is said here why not. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { expect, test } from 'bun:test'
import { anthropicBills } from './bills-anthropic.ts'
import { googleBills } from './bills-google.ts'
import { openaiBills } from './bills-openai.ts'
import { otherBills } from './bills-others.ts'
import type { Bill } from './bill.ts'
import { usageOnLanes } from './read-answer.ts'

/** Where the package reads another usage, and which reading is the vendor's. */
const differences: Readonly<Record<string, string>> = {
  'reasoning beside the output': 'the generic reader takes the output for the whole; its reader for xAI adds the two',
  'cached tokens beside the totals': 'a name of Moonshot alone',
  'a tenth for cached tokens': 'a name of Mistral alone',
  'a hit of the cache off-peak': 'a name of DeepSeek alone',
  'peak hours': 'a name of DeepSeek alone',
  'the same hours on a Sunday': 'a name of DeepSeek alone',
  'a call into the peak hours': 'a name of DeepSeek alone',
  'an explicit cache is written at 125 percent': 'a name of Alibaba Cloud alone',
  'an advisor at its own prices': 'its total is that of one model: the advisor is left out',
  'pictures by a model that is named': 'its total is that of one model: what drew is left out',
}

const bills = [...openaiBills, ...anthropicBills, ...googleBills, ...otherBills].filter(
  ({ wording, name }) => ['chat', 'responses', 'messages', 'gemini'].includes(wording) && !differences[name],
)
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }]

function modelOf({ wording, answer, model }: Bill) {
  const settings = { apiKey: 'k', fetch: (async () => Response.json(answer)) as unknown as typeof fetch }
  if (wording === 'messages') return createAnthropic(settings)(model)
  if (wording === 'gemini') return createGoogle(settings)(model)
  return wording === 'chat' ? createOpenAI(settings).chat(model) : createOpenAI(settings).responses(model)
}

test('every difference is of a bill', () => {
  const names = new Set([...openaiBills, ...anthropicBills, ...otherBills].map(bill => bill.name))
  expect(Object.keys(differences).filter(name => !names.has(name))).toEqual([])
  expect(bills.length).toBeGreaterThan(45)
})

for (const bill of bills)
  test(`the AI SDK reads the same: ${bill.provider}, ${bill.name}`, async () => {
    const { usage } = await modelOf(bill).doGenerate({ prompt })
    const [ours] = usageOnLanes(bill)
    const theirs = {
      input: usage.inputTokens.total,
      cached: usage.inputTokens.cacheRead ?? 0,
      output: usage.outputTokens.total,
      reasoning: usage.outputTokens.reasoning ?? 0,
    }
    expect(theirs).toEqual({
      input: ours!.inputTokens,
      cached: ours!.cachedInputTokens ?? 0,
      output: ours!.outputTokens,
      reasoning: ours!.reasoningTokens ?? 0,
    })
  })
