/** How requests send what tools an object may use, in the names of LiteLLM's `object_permission`. */
import { z } from 'zod'
import type { ToolPermission } from '../../core/tenancy/tool-permission.ts'
import { lazy } from '../../lib/lazy.ts'

const name = () => z.string().min(1, 'must not be empty').max(255, 'must be at most 255 characters')
const names = () => z.array(name()).max(1000).nullish()

/** LiteLLM's fields of the same object for what there is not here: empty ones ask for nothing. */
const nothingOf = (what: string) =>
  z
    .array(z.unknown())
    .max(0, `there are no ${what} here: take it out`)
    .nullish()
    .transform(() => undefined)

const noToolsets = () => nothingOf('sets of tools; name tools in `mcp_tool_permissions`')

/** Null and absent = it says nothing of that. */
export const toolPermission = lazy(() =>
  z
    .strictObject({
      mcp_servers: names(),
      mcp_access_groups: names(),
      mcp_tool_permissions: z.record(name(), z.array(name()).max(1000)).nullish(),
      blocked_tools: names(),
      mcp_toolsets: noToolsets(),
      vector_stores: nothingOf('vector stores'),
      agents: nothingOf('agents'),
      agent_access_groups: nothingOf('agents'),
      models: nothingOf('models in it; use `models` beside it'),
      search_tools: nothingOf('search tools'),
    })
    .transform(given => {
      const said = Object.entries(given).filter(
        ([, value]) => value !== null && value !== undefined && Object.keys(value).length > 0,
      )
      return said.length === 0 ? null : (Object.fromEntries(said) as ToolPermission)
    }),
)
