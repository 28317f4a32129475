/**
 * What Claude Code 2.1.197 sends over three requests of a task with two tool turns, as captured from the program with
 * its texts shortened: three system blocks (the first one counts for billing), a `system` message among the others,
 * thinking that comes back signed, breakpoints for the cache, and fields of its betas.
 */
import type Anthropic from '@anthropic-ai/sdk'

/** The query of its path; the header `anthropic-beta` goes with it. */
export const claudeCodeQuery = { beta: 'true' }
/** Its headers beside those of the SDK. */
export const claudeCodeHeaders = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta':
    'claude-code-20250219,interleaved-thinking-2025-05-14,thinking-token-count-2026-05-13,context-management-2025-06-27',
  'x-app': 'cli',
  'x-claude-code-session-id': 'b3263606-38fb-481e-b056-223e80beb7fe',
}

const ephemeral = { type: 'ephemeral' } as const

const schema = (properties: Record<string, unknown>, required: string[]) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  properties,
  required,
  additionalProperties: false,
})

/** Two of its tools. */
const claudeCodeTools = [
  {
    name: 'Bash',
    description: 'Executes a command.',
    input_schema: schema({ command: { type: 'string' }, timeout: { type: 'number' } }, ['command']),
  },
  {
    name: 'Read',
    description: 'Reads a file.',
    input_schema: schema({ file_path: { type: 'string' }, limit: { type: 'integer', exclusiveMinimum: 0 } }, [
      'file_path',
    ]),
  },
]

/** The first messages: the user's, and the program's own. */
export const claudeCodeStart = [
  {
    role: 'user',
    content: [
      { type: 'text', text: '<system-reminder>\nThe current date is 2026-11-23.\n</system-reminder>' },
      { type: 'text', text: 'read a.txt and b.txt' },
    ],
  },
  { role: 'system', content: 'Available agent types for the Agent tool:\n- general-purpose' },
] as unknown as Anthropic.MessageParam[]

/** The answer to a tool call, with the breakpoint that stands on the newest message. */
export function claudeCodeResult(message: Anthropic.Message, text: string): Anthropic.MessageParam {
  return {
    role: 'user',
    content: message.content.flatMap(block =>
      block.type === 'tool_use'
        ? [{ tool_use_id: block.id, type: 'tool_result' as const, content: text, cache_control: ephemeral }]
        : [],
    ),
  }
}

/** One request. */
export function claudeCodeRequest(model: string, messages: Anthropic.MessageParam[]) {
  return {
    model,
    messages,
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.197.7d5; cc_entrypoint=sdk-cli;' },
      { type: 'text', text: 'You are an agent.', cache_control: ephemeral },
      { type: 'text', text: 'You help users with software.', cache_control: ephemeral },
    ],
    tools: claudeCodeTools,
    metadata: { user_id: JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's' }) },
    max_tokens: 64_000,
    thinking: { type: 'adaptive' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'high' },
  } as unknown as Anthropic.MessageStreamParams
}
