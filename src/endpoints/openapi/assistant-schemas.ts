/** Assistants, threads, messages, runs, their steps, and the events of a run (OpenAI API reference, "Assistants"). */
import {
  anyObject,
  boolean,
  constant,
  described,
  either,
  integer,
  listOf,
  mapOf,
  nullable,
  number,
  oneOf,
  pageOf,
  reference,
  shape,
  text,
  unixSeconds,
} from './schema.ts'
import type { Properties, Schema } from './schema.ts'

const metadata = mapOf(text)
const tools = listOf(
  shape({
    type: constant('function'),
    function: shape({ name: text }, { description: text, parameters: anyObject, strict: nullable(boolean) }),
  }),
)
const sampling = {
  temperature: nullable(number),
  top_p: nullable(number),
  response_format: nullable(either(constant('auto'), shape({ type: text }, { json_schema: anyObject }))),
  reasoning_effort: nullable(text),
}
const kept = (object: string): Properties => ({ id: text, object: constant(object), created_at: unixSeconds })
const failure = nullable(shape({ code: text, message: text }))
const functionCall = { id: text, type: constant('function') }
const calledFunction = { name: text, arguments: text }

const textPart = shape({ type: constant('text'), text: shape({ value: text, annotations: listOf(anyObject) }) })
const imagePart = shape({ type: constant('image_url'), image_url: shape({ url: text }, { detail: text }) })
const refusalPart = shape({ type: constant('refusal'), refusal: text })

const message = shape({
  ...kept('thread.message'),
  thread_id: text,
  status: oneOf('in_progress', 'incomplete', 'completed'),
  incomplete_details: nullable(
    shape({ reason: oneOf('content_filter', 'max_tokens', 'run_cancelled', 'run_expired', 'run_failed') }),
  ),
  completed_at: nullable(unixSeconds),
  incomplete_at: nullable(unixSeconds),
  role: oneOf('user', 'assistant'),
  content: listOf(either(textPart, imagePart, refusalPart)),
  assistant_id: nullable(text),
  run_id: nullable(text),
  attachments: listOf(anyObject),
  metadata,
})

const run = shape({
  ...kept('thread.run'),
  thread_id: text,
  assistant_id: text,
  status: oneOf(
    'queued',
    'in_progress',
    'requires_action',
    'cancelling',
    'cancelled',
    'failed',
    'completed',
    'incomplete',
    'expired',
  ),
  required_action: nullable(
    shape({
      type: constant('submit_tool_outputs'),
      submit_tool_outputs: shape({
        tool_calls: listOf(shape({ ...functionCall, function: shape(calledFunction) })),
      }),
    }),
  ),
  last_error: failure,
  expires_at: nullable(unixSeconds),
  started_at: nullable(unixSeconds),
  cancelled_at: nullable(unixSeconds),
  failed_at: nullable(unixSeconds),
  completed_at: nullable(unixSeconds),
  incomplete_details: nullable(shape({ reason: oneOf('max_completion_tokens', 'max_prompt_tokens') })),
  model: text,
  instructions: text,
  tools,
  metadata,
  usage: nullable(reference('RunUsage')),
  ...sampling,
  max_prompt_tokens: nullable(integer),
  max_completion_tokens: nullable(integer),
  truncation_strategy: shape({ type: oneOf('auto', 'last_messages') }, { last_messages: nullable(integer) }),
  tool_choice: either(oneOf('none', 'auto', 'required'), anyObject),
  parallel_tool_calls: boolean,
})

const step = shape({
  ...kept('thread.run.step'),
  assistant_id: text,
  thread_id: text,
  run_id: text,
  type: oneOf('message_creation', 'tool_calls'),
  status: oneOf('in_progress', 'cancelled', 'failed', 'completed', 'expired'),
  step_details: either(
    shape({ type: constant('message_creation'), message_creation: shape({ message_id: text }) }),
    shape({
      type: constant('tool_calls'),
      tool_calls: listOf(shape({ ...functionCall, function: shape({ ...calledFunction, output: nullable(text) }) })),
    }),
  ),
  last_error: failure,
  expired_at: nullable(unixSeconds),
  cancelled_at: nullable(unixSeconds),
  failed_at: nullable(unixSeconds),
  completed_at: nullable(unixSeconds),
  metadata,
  usage: nullable(reference('RunUsage')),
})

const delta = (object: string, fields: Properties): Schema =>
  shape({ id: text, object: constant(object), delta: shape(fields) })
const index = { index: integer }
const messageDelta = delta('thread.message.delta', {
  content: listOf(
    either(
      shape({ ...index, type: constant('text'), text: shape({ value: text }, { annotations: listOf(anyObject) }) }),
      shape({ ...index, type: constant('image_url'), image_url: shape({ url: text }) }),
      shape({ ...index, type: constant('refusal'), refusal: text }),
    ),
  ),
})
const stepDelta = delta('thread.run.step.delta', {
  step_details: shape({
    type: constant('tool_calls'),
    tool_calls: listOf(
      shape(
        {
          ...index,
          type: constant('function'),
          function: shape({ arguments: text }, { name: text, output: nullable(text) }),
        },
        { id: text },
      ),
    ),
  }),
})

const deleted = (object: string): Schema =>
  shape({ id: text, object: constant(`${object}.deleted`), deleted: constant(true) })

/** By their names under `#/components/schemas/`. */
export const assistantAnswerSchemas: Readonly<Record<string, Schema>> = {
  Assistant: shape({
    ...kept('assistant'),
    name: nullable(text),
    description: nullable(text),
    model: text,
    instructions: nullable(text),
    tools,
    tool_resources: nullable(anyObject),
    metadata,
    ...sampling,
  }),
  AssistantList: pageOf(reference('Assistant')),
  DeletedAssistant: deleted('assistant'),
  Thread: shape({ ...kept('thread'), metadata, tool_resources: nullable(anyObject) }),
  DeletedThread: deleted('thread'),
  ThreadMessage: message,
  ThreadList: pageOf(reference('Thread')),
  ThreadMessageList: pageOf(reference('ThreadMessage')),
  DeletedThreadMessage: deleted('thread.message'),
  Run: run,
  RunList: pageOf(reference('Run')),
  RunUsage: shape({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer }),
  RunStep: step,
  RunStepList: pageOf(reference('RunStep')),
  RunStream: described(
    'The `event:` line names what has happened, such as `thread.run.created`; the last event is `done`.',
    either(
      reference('Thread'),
      reference('Run'),
      reference('RunStep'),
      reference('ThreadMessage'),
      messageDelta,
      stepDelta,
      reference('Error'),
      constant('[DONE]'),
    ),
  ),
}
