/** The models of a vendor that the price lists in force know, as the vendor writes their names. */
import { listName } from './model-names.ts'
import { operatorListInForce } from './catalogue.ts'
import { builtInList, builtInModels } from './price-list.ts'

/**
 * The public list whose names are those that a call gives. The others join several names of a model, and some that are
 * none.
 */
const namingList = 'litellm'

/** Of these a name that can be called is the operator's own: that of a deployment. */
const namedByOperators: ReadonlySet<string> = new Set(['azure'])

/** A model with a slash in its name is, at these, one and the same in a region. */
const namedByPlace: ReadonlySet<string> = new Set(['bedrock', 'vertex_ai'])

/** The names of `provider`'s models, in order; empty = the lists know none. Tuned models are left out. */
export function knownModels(provider: string): readonly string[] {
  if (namedByOperators.has(provider)) return []
  const names = new Set([...builtInNames(provider), ...(operatorListInForce()?.namesOf(provider) ?? [])])
  return [...names].filter(name => isCallable(provider, name)).sort()
}

/** Rows of the list for classes of models by their size, and for the containers of tools. */
const noModel = /^(?:(?:together|fireworks)-ai-(?!.*\/)|container$)/

function isCallable(provider: string, name: string): boolean {
  return (
    !name.startsWith('ft:') &&
    !noModel.test(name) &&
    !name.includes('*') &&
    !(namedByPlace.has(provider) && name.includes('/'))
  )
}

function builtInNames(provider: string): string[] {
  const { sources, written } = builtInList()
  const index = String(sources.findIndex(one => one.name === namingList))
  const spelled = Object.hasOwn(written, provider) ? written[provider]!.split(' ') : []
  const byListName = new Map(spelled.map(name => [listName(name), name]))
  return [...builtInModels(provider)].flatMap(([name, { lists }]) =>
    lists.includes(index) ? [byListName.get(name) ?? name] : [],
  )
}
