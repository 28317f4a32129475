import { useState } from 'react'
import type { HubModel } from '../../api/model-groups.ts'
import { useSearchValue } from '../../lib/address.ts'
import type { Step } from './tree.ts'

const storageKey = 'modelgate.chat.models'

function remembered(): readonly string[] {
  try {
    return (localStorage.getItem(storageKey) ?? '').split('\n').filter(Boolean)
  } catch {
    // Storage may be refused.
    return []
  }
}

/** Who answers next: what was chosen here, what the address says, who answered last, who was asked last of all. */
export function useChosenModels(
  models: readonly HubModel[],
  conversationId: string,
  steps: readonly Step[],
): [chosen: readonly string[], choose: (names: readonly string[]) => void] {
  const [wanted] = useSearchValue('model')
  const [picked, setPicked] = useState<{ readonly id: string; readonly names: readonly string[] }>()
  const offered = (names: readonly string[]) => names.filter(name => models.some(one => one.model_group === name))
  const answered = steps.findLast(one => one.message.role === 'assistant')?.beside ?? []
  const candidates = [
    // A new conversation has its id with its first answer: what was chosen before stays.
    picked && (picked.id === conversationId || picked.id === '') ? picked.names : [],
    [wanted],
    answered.map(one => one.content.model ?? ''),
    remembered(),
    models.map(one => one.model_group).slice(0, 1),
  ]
  const chosen = candidates.map(offered).find(names => names.length > 0) ?? []
  const choose = (names: readonly string[]) => {
    setPicked({ id: conversationId, names })
    try {
      localStorage.setItem(storageKey, names.join('\n'))
    } catch {
      // Without storage the choice ends with the page.
    }
  }
  return [chosen.slice(0, 2), choose]
}
