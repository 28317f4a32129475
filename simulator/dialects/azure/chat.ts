/** What Azure OpenAI adds to OpenAI's chat: the judgements of its content filter, a version in the query, errors of its own. */
import { BadRequest, isJson, objectsOf } from '../../generation/types.ts'
import type { Answer, Json, StreamEvent } from '../../generation/types.ts'
import { openaiUsage, readChat, writeChat } from '../openai/chat.ts'
import { openaiError } from '../openai/error.ts'
import type { ErrorWords } from '../openai/error.ts'
import type { Answerer } from '../endpoint.ts'

const safe = { filtered: false, severity: 'safe' }
const judgement = { hate: safe, self_harm: safe, sexual: safe, violence: safe }
const promptJudgement = [
  {
    prompt_index: 0,
    content_filter_results: { ...judgement, jailbreak: { filtered: false, detected: false } },
  },
]

function judged(body: Json): Json {
  return {
    ...body,
    choices: objectsOf(body.choices).map(choice => ({ ...choice, content_filter_results: judgement })),
  }
}

/** The prompt is judged first, in a chunk without choices and with hardly anything else. */
function* judgedEvents(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  const first = {
    choices: [],
    created: 0,
    id: '',
    model: '',
    object: '',
    prompt_filter_results: promptJudgement,
  }
  yield { text: `data: ${JSON.stringify(first)}\n\n`, kind: 'start', tokens: 0 }
  for (const event of events) {
    const value: unknown = event.kind === 'end' ? undefined : JSON.parse(event.text.slice('data: '.length))
    yield isJson(value) ? { ...event, text: `data: ${JSON.stringify(judged(value))}\n\n` } : event
  }
}

function judgedAnswer(answer: Answer): Answer {
  const { content } = answer
  if (typeof content !== 'string') return { ...answer, content: judgedEvents(content as Iterable<StreamEvent>) }
  const whole = { ...judged(JSON.parse(content) as Json), prompt_filter_results: promptJudgement }
  return { ...answer, content: JSON.stringify(whole) }
}

/** Addresses by deployment need a dated version. */
export const azureChat: Answerer = ({ request, body, model, think, usageOf }) => {
  const isDated = request.target.includes('/deployments/')
  if (isDated && !/[?&]api-version=\d{4}-\d\d-\d\d(?:-preview)?(?:&|$)/.test(request.target))
    throw new BadRequest('Resource not found', { status: 404, code: '404' })
  return judgedAnswer(writeChat(think(readChat(body, model)), body, usageOf(openaiUsage)))
}

const filteredPrompt = {
  message:
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
  type: null,
  param: 'prompt',
  code: 'content_filter',
  status: 400,
  innererror: {
    code: 'ResponsibleAIPolicyViolation',
    content_filter_result: { ...judgement, hate: { filtered: true, severity: 'high' } },
  },
}

const messages: Record<number, [string, string]> = {
  401: [
    '401',
    'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription.',
  ],
  404: ['DeploymentNotFound', 'The API deployment for this resource does not exist.'],
  429: [
    '429',
    'Requests to the ChatCompletions_Create Operation have exceeded call rate limit of your current pricing tier. Please retry after 1 second.',
  ],
}

/** Azure's own words for a wrong key, a missing deployment, a rate limit and a filtered prompt; else OpenAI's. */
export function azureError(words: ErrorWords): Json {
  if (words.kind === 'content-filter') return { error: filteredPrompt }
  const own = words.kind ? undefined : messages[words.status]
  if (!own) return openaiError(words)
  return { error: { code: words.code ?? own[0], message: words.message ?? own[1] } }
}
