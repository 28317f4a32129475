/** How a model looks in lists: one entry that OpenAI's and Anthropic's clients read, and Codex' own catalogue. */

type Info = Readonly<Record<string, unknown>>

/** Fixed, so that lists compare equal between calls and replicas. */
const createdS = 1_677_610_602
const createdAt = new Date(createdS * 1000).toISOString()

const numberOrNull = (value: unknown) => (typeof value === 'number' ? value : null)

/** Superset of OpenAI's `Model` and Anthropic's `ModelInfo`. */
export function listEntry(id: string, info: Info): { id: string } & Record<string, unknown> {
  return {
    id,
    object: 'model',
    created: createdS,
    owned_by: 'openai',
    type: 'model',
    display_name: typeof info.display_name === 'string' ? info.display_name : id,
    created_at: createdAt,
    context_length: numberOrNull(info.max_input_tokens ?? info.context_window),
    max_output_tokens: numberOrNull(info.max_output_tokens),
  }
}

const codexInstructions =
  "You are a coding agent working in the user's terminal. Read before you change, keep changes small, " +
  'run what you can to check them, and say plainly what you did.'

/** The catalogue that Codex reads when it asks with `client_version` (fields seen with Codex 0.169). */
export function codexCatalogue(models: readonly { id: string; info: Info }[]): object {
  return {
    models: models.map(({ id, info }, at) => ({
      slug: id,
      display_name: typeof info.display_name === 'string' ? info.display_name : id,
      description: typeof info.description === 'string' ? info.description : null,
      default_reasoning_level: 'medium',
      supported_reasoning_levels: [
        { effort: 'low', description: 'Fast' },
        { effort: 'medium', description: 'Balanced' },
        { effort: 'high', description: 'Thorough' },
      ],
      shell_type: 'shell_command',
      visibility: 'list',
      supported_in_api: true,
      priority: at,
      upgrade: null,
      base_instructions: codexInstructions,
      supports_reasoning_summaries: false,
      support_verbosity: false,
      default_verbosity: null,
      apply_patch_tool_type: null,
      truncation_policy: { mode: 'bytes', limit: 10_000 },
      supports_parallel_tool_calls: info.supports_parallel_function_calling === true,
      context_window: numberOrNull(info.max_input_tokens ?? info.context_window) ?? 128_000,
      experimental_supported_tools: [],
    })),
  }
}
