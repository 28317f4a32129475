/** Access groups: names that stand for models in the lists of keys. */
import type { Deployment } from '../../core/deployment.ts'
import type { Settings } from '../../core/settings.ts'

type AccessGroups = Settings['accessGroups']

/** The groups that these deployments name in `access_groups`, with the names of their models, and those made by API. */
export function accessGroups(deployments: readonly Deployment[], sent: AccessGroups = {}): AccessGroups {
  const groups = new Map<string, Set<string>>()
  const namesOf = (group: string): Set<string> => {
    const names = groups.get(group) ?? new Set<string>()
    groups.set(group, names)
    return names
  }
  for (const { info, modelName } of deployments)
    for (const group of (info.access_groups as string[] | undefined) ?? []) namesOf(group).add(modelName)
  for (const [group, names] of Object.entries(sent)) {
    const all = namesOf(group)
    for (const name of names) all.add(name)
  }
  return Object.fromEntries([...groups].map(([group, names]) => [group, [...names]]))
}

/**
 * The settings for callers who see these deployments alone. The group of a team's model is not that of a shared model
 * of its name: it must not open the one to those who do not see the other.
 */
export function withGroupsAmong(deployments: readonly Deployment[], settings: Settings): Settings {
  return { ...settings, accessGroups: accessGroups(deployments, settings.sentAccessGroups) }
}
