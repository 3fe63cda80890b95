/** Of a graph of plans that is looked at: nothing in it is moved, joined or deleted. */
export const STILL_GRAPH = {
  nodesDraggable: false,
  nodesConnectable: false,
  nodesFocusable: false,
  edgesFocusable: false,
  elementsSelectable: false,
  disableKeyboardA11y: true,
  preventScrolling: false,
  zoomOnScroll: false,
  zoomOnDoubleClick: false,
  deleteKeyCode: null,
  proOptions: { hideAttribution: true },
  role: "group",
} as const;
