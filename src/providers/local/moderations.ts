/** Simulated moderation by a short list of words: for tests and first steps, not a safeguard. */
import type { Json } from '../../lib/json/json-values.ts'
import { LocalRefusal } from './refusal.ts'

const inputsMax = 2048
const lengthMax = 2_000_000
const scoreOfMatch = 0.9
const scoreOfNothing = 0.01

/** OpenAI's categories with the words that flag them: whole words, case-insensitive. */
const categories: Readonly<Record<string, RegExp | undefined>> = {
  hate: /\b(subhuman|vermin|racial slur|master race)\b/i,
  'hate/threatening': /\b(exterminate them|ethnic cleansing)\b/i,
  harassment: /\b(idiot|moron|worthless|loser)\b/i,
  'harassment/threatening': /\b(i will find you|watch your back|you will regret)\b/i,
  illicit: /\b(shoplift|launder money|forge a passport|steal a car)\b/i,
  'illicit/violent': /\b(build a bomb|make a bomb|pipe bomb)\b/i,
  'self-harm': /\b(suicide|self-harm|cut myself)\b/i,
  'self-harm/intent': /\b(kill myself|end my life)\b/i,
  'self-harm/instructions': /\b(how to (commit suicide|hang myself))\b/i,
  sexual: /\b(porn|pornographic|explicit sex)\b/i,
  // Never flagged: such words are not listed in this repository.
  'sexual/minors': undefined,
  violence: /\b(kill|murder|stab|shoot|massacre|bomb)\b/i,
  'violence/graphic': /\b(gore|dismember|disembowel|blood everywhere)\b/i,
}

/** Answers a moderation request of OpenAI's shape. Throws LocalRefusal on images, which it cannot check. */
export function answerModerations(body: Json): object {
  const texts = inputTexts(body.input)
  return {
    id: `modr-simulated-${Bun.hash(JSON.stringify(texts)).toString(36)}`,
    model: body.model,
    results: texts.map(verdict),
  }
}

function verdict(text: string): Json {
  const flags = Object.entries(categories).map(([name, words]): [string, boolean] => [name, words?.test(text) ?? false])
  return {
    flagged: flags.some(([, flagged]) => flagged),
    categories: Object.fromEntries(flags),
    category_scores: Object.fromEntries(
      flags.map(([name, flagged]) => [name, flagged ? scoreOfMatch : scoreOfNothing]),
    ),
    category_applied_input_types: Object.fromEntries(flags.map(([name]) => [name, ['text']])),
  }
}

function inputTexts(input: unknown): string[] {
  const list: unknown[] = Array.isArray(input) ? input : [input]
  if (list.length === 0 || list.length > inputsMax)
    throw new LocalRefusal('input', `\`input\` must be 1 to ${inputsMax} texts or parts`)
  const parts = list.map(textOf)
  if (parts.reduce((sum, text) => sum + text.length, 0) > lengthMax)
    throw new LocalRefusal('input', `\`input\` may have at most ${lengthMax} characters here; send fewer at a time`)
  // A list of strings has one result each, a list of parts is a single input.
  return typeof list[0] === 'string' ? parts : [parts.join('\n')]
}

function textOf(one: unknown): string {
  if (typeof one === 'string') return one
  const { type, text } = (one ?? {}) as Json
  if (type === 'text' && typeof text === 'string') return text
  throw new LocalRefusal(
    'input',
    'the built-in moderation reads texts only and cannot see images; use a real model for them',
  )
}
