/** Prompts, resources, templates and completions of all servers of a caller, by the protocol of MCP alone. */
import type { ServerRights } from '../access/tools/tool-rights.ts'
import { GatewayError } from '../core/errors.ts'
import type {
  ItemKind,
  ProtocolFeatures,
  ProtocolItem as Item,
  ToolRequestContext,
  ToolSelection,
} from '../core/tools.ts'
import type { ConnectionParts } from './connection.ts'
import { offeredName, prefixOf } from './offered-names.ts'
import { itemsOf } from './server-pool.ts'
import type { PooledServer } from './server-pool.ts'

/** What of the gateway of tools this works with. */
export interface FeatureParts {
  readonly clock: ConnectionParts['clock']
  selected(context: ToolRequestContext, selection: ToolSelection): readonly ServerRights[]
  pooled(rights: ServerRights, context: ToolRequestContext): PooledServer
}

/** How long a list of several servers waits for one that was never listed. */
const coldWaitMs = 2000

/** Which servers are asked is a matter of rights for servers: those for single tools concern tools alone. */
export class ServerFeatures implements ProtocolFeatures {
  readonly #parts: FeatureParts

  constructor(parts: FeatureParts) {
    this.#parts = parts
  }

  async list(kind: ItemKind, context: ToolRequestContext, selection: ToolSelection): Promise<Item[]> {
    const lists = await this.#lists(kind, context, selection)
    return lists.flatMap(({ rights, items }) =>
      kind === 'prompts'
        ? items.map(item => ({ ...item, name: offeredName(rights.server.prefix, String(item.name)) }))
        : items,
    )
  }

  /** A prompt by its offered name. */
  async getPrompt(context: ToolRequestContext, selection: ToolSelection, params: Item): Promise<object> {
    const { rights, name } = await this.#prompt(context, selection, String(params.name))
    return this.#request(rights, context, 'prompts/get', { ...params, name })
  }

  /** A resource of the server that lists it, or that has a template which its address fits. */
  async readResource(context: ToolRequestContext, selection: ToolSelection, params: Item): Promise<object> {
    const rights = await this.#serverOf(context, selection, String(params.uri))
    return this.#request(rights, context, 'resources/read', params)
  }

  /** Values for an argument of a prompt or a template. */
  async complete(context: ToolRequestContext, selection: ToolSelection, params: Item): Promise<object> {
    const ref = params.ref as { readonly type: string; readonly name?: string; readonly uri?: string }
    if (ref.type === 'ref/prompt') {
      const { rights, name } = await this.#prompt(context, selection, String(ref.name))
      return this.#request(rights, context, 'completion/complete', { ...params, ref: { ...ref, name } })
    }
    const rights = await this.#serverOf(context, selection, String(ref.uri))
    return this.#request(rights, context, 'completion/complete', params)
  }

  #lists(kind: ItemKind, context: ToolRequestContext, selection: ToolSelection) {
    const selected = this.#parts.selected(context, selection)
    const waitMs = selected.length === 1 ? selected[0]!.server.timeoutMs : coldWaitMs
    return Promise.all(
      selected.map(async rights => {
        const { items } = await itemsOf(this.#parts.pooled(rights, context), kind, this.#parts.clock).get(waitMs)
        return { rights, items }
      }),
    )
  }

  async #prompt(context: ToolRequestContext, selection: ToolSelection, offered: string) {
    const lists = await this.#lists('prompts', context, selection)
    const wanted = prefixOf(offered)
    for (const { rights, items } of lists)
      for (const { name } of items)
        if (rights.server.prefix === wanted && offeredName(rights.server.prefix, String(name)) === offered)
          return { rights, name: String(name) }
    throw new GatewayError('invalid-request', `there is no prompt '${offered.slice(0, 256)}' that this key may use`)
  }

  async #serverOf(context: ToolRequestContext, selection: ToolSelection, uri: string): Promise<ServerRights> {
    const listed = await this.#lists('resources', context, selection)
    const exact = listed.find(({ items }) => items.some(item => item.uri === uri))
    if (exact) return exact.rights
    const { UriTemplate } = await import('@modelcontextprotocol/client')
    const templates = await this.#lists('resourceTemplates', context, selection)
    const fits = ({ uriTemplate }: Item) =>
      uriTemplate === uri || new UriTemplate(String(uriTemplate)).match(uri) !== null
    const found = templates.find(({ items }) => items.some(fits))
    if (found) return found.rights
    throw new GatewayError('invalid-request', `there is no resource '${uri.slice(0, 500)}' that this key may read`)
  }

  #request(
    rights: ServerRights,
    context: ToolRequestContext,
    method: 'prompts/get' | 'resources/read' | 'completion/complete',
    params: Item,
  ): Promise<object> {
    const { _meta: _, ...rest } = params
    const { connection } = this.#parts.pooled(rights, context)
    return connection.request(method, rest, { signal: context.signal, timeoutMs: rights.server.timeoutMs })
  }
}
