/** Text completions: each prompt is answered like a user message (OpenAI API reference, "Completions"). */
import type { InProcessAnswer } from '../../core/provider.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { answerChat, splitTokens } from './chat.ts'
import type { LocalAnswer, LocalChoice } from './chat.ts'
import { LocalRefusal } from './refusal.ts'
import { createdS, events, includesUsage, json } from './wire.ts'

/** Prompts times choices of one call. */
const answersMax = 2048
/** Characters of all echoes of an answer. */
const echoCharactersMax = 1024 * 1024

interface TextChoice {
  /** The prompt where `echo` is true, else ''. */
  readonly echo: string
  readonly text: string
  readonly finish: LocalChoice['finish']
}

/**
 * Answers a completion request of OpenAI's shape; choices are in the order of the prompts. Throws LocalRefusal for
 * fields that it cannot follow, and for answers that would be too large.
 */
export function answerCompletion(body: Json): InProcessAnswer {
  const prompts = promptsOf(body.prompt)
  const choicesEach = Math.max(Number(body.n ?? 1), 1)
  if (prompts.length * choicesEach > answersMax)
    throw new LocalRefusal('prompt', `prompts times \`n\` may be at most ${answersMax}; send fewer prompts at a time`)
  refuseUnsupported(body)
  const echoes = body.echo === true ? echoesOf(prompts, choicesEach, body) : undefined
  // Text completions have no tool calls.
  const request = { ...body, tools: undefined, functions: undefined }
  const answers = prompts.map(prompt =>
    answerChat({ ...request, messages: [{ role: 'user', content: promptText(prompt) }] }),
  )
  const choices = answers.flatMap(({ choices: all }, at) =>
    all.map(({ text, finish }): TextChoice => ({ echo: echoes?.[at] ?? '', text, finish })),
  )
  const head = {
    id: answers[0]!.id.replace('chatcmpl', 'cmpl'),
    object: 'text_completion',
    created: createdS,
    model: body.model,
  }
  const usage = usageOf(answers)
  if (body.stream === true) return events(chunksOf(body, choices, { head, usage }))
  return json({
    ...head,
    choices: choices.map(({ echo, text, finish }, index) =>
      choice(index, echo + text, { finish, logprobs: logprobsOf(body, splitTokens(text), 0) }),
    ),
    usage,
  })
}

function promptsOf(prompt: unknown): unknown[] {
  if (!Array.isArray(prompt)) return [prompt ?? '']
  return typeof prompt[0] === 'number' ? [prompt] : prompt
}

/** The prompt as text; token ids, which have no text here, as numbers. */
const promptText = (prompt: unknown): string => (Array.isArray(prompt) ? prompt.join(' ') : String(prompt))

/**
 * Json that would change the answer. In calls they are dropped or refused earlier; the lines of a batch arrive here
 * unchecked.
 */
function refuseUnsupported(body: Json): void {
  if (typeof body.suffix === 'string' && body.suffix !== '')
    throw new LocalRefusal('suffix', 'the built-in model fills no middle; leave `suffix` out')
  if (typeof body.best_of === 'number' && body.best_of > 1 && body.best_of !== (body.n ?? 1))
    throw new LocalRefusal('best_of', 'the built-in model has one answer to choose from; leave `best_of` out')
}

function echoesOf(prompts: readonly unknown[], choicesEach: number, { logprobs }: Json): readonly string[] {
  if (typeof logprobs === 'number')
    throw new LocalRefusal('echo', 'the built-in model has no logprobs of a prompt; leave out `echo` or `logprobs`')
  if (!prompts.every(prompt => typeof prompt === 'string'))
    throw new LocalRefusal('echo', 'the built-in model has no text of token ids; send the prompt as a string')
  const characters = prompts.reduce((sum, prompt) => sum + prompt.length, 0) * choicesEach
  if (characters > echoCharactersMax)
    throw new LocalRefusal(
      'echo',
      `the built-in model repeats at most ${echoCharactersMax} characters; leave \`echo\` out`,
    )
  return prompts
}

function usageOf(answers: readonly LocalAnswer[]): LocalAnswer['usage'] {
  const sum = (field: keyof LocalAnswer['usage']) => answers.reduce((total, answer) => total + answer.usage[field], 0)
  return {
    prompt_tokens: sum('prompt_tokens'),
    completion_tokens: sum('completion_tokens'),
    total_tokens: sum('total_tokens'),
  }
}

function choice(index: number, text: string, more: { finish: string | null; logprobs: Json | null }): Json {
  return { index, text, logprobs: more.logprobs, finish_reason: more.finish }
}

/** `logprobs` of text completions; `offset` = characters before the first token. All probabilities are 1. */
function logprobsOf({ logprobs }: Json, tokens: readonly string[], offset: number): Json | null {
  if (typeof logprobs !== 'number') return null
  let at = offset
  return {
    tokens,
    token_logprobs: tokens.map(() => 0),
    top_logprobs: tokens.map(token => (logprobs > 0 ? { [token]: 0 } : {})),
    text_offset: tokens.map(token => (at += token.length) - token.length),
  }
}

function chunksOf(body: Json, choices: readonly TextChoice[], { head, usage }: { head: Json; usage: Json }): Json[] {
  const chunks = choices.flatMap(({ echo, text, finish }, index) => {
    let offset = 0
    const tokens = splitTokens(text).map(token => {
      const logprobs = logprobsOf(body, [token], offset)
      offset += token.length
      return choice(index, token, { finish: null, logprobs })
    })
    const before = echo === '' ? [] : [choice(index, echo, { finish: null, logprobs: null })]
    return [...before, ...tokens, choice(index, '', { finish, logprobs: null })]
  })
  const list: Json[] = chunks.map(one => ({ ...head, choices: [one] }))
  if (includesUsage(body)) list.push({ ...head, choices: [], usage })
  return list
}
