// What a live page says, by language.

const english = {
  run: "Run", run_all: "Run all", stop: "Stop", code: "Code of cell {cell}; Tab indents, Escape leaves",
  loads: "Python loads: {total} MB", starts: "Python starts",
  ready: "Python is ready", stopped: "Stopped. Python starts again; what you answered is kept.",
  died: "Python has ended ({why}). It starts again; what you answered is kept.",
  details: "Where it happened",
  no_start: "Python does not run in this page: {why} Texts and pictures stay as they were stored. {try}",
  blocked: "the browser blocks workers or WebAssembly.",
  missing: "a file could not be loaded ({file}).",
  unknown: "{error}.",
  try_reload: "Reload the page, try another browser, or install memlab on a computer.",
  link_comes: "The picture of the link appears here when Python is ready.",
  link_stored: "The link asks for another picture, which needs Python; this is the stored one.",
  link_lost: "The link leads to a cell that this page does not have.",
  link_waits: "The link leads to a picture that is not there yet; answer the question above it first.",
  edited: "You have changed this cell.", reset: "Reset this cell",
  kept: "Progress", kept_save: "Save progress.json", kept_open: "Add a file:", kept_forget: "Forget all",
  kept_here: "Your answers are kept in this browser.", kept_nothing: "Nothing is answered yet.",
  kept_read: "{file} was added to your answers.", kept_wait: "Wait until Python is ready.",
  kept_sure: "Forget all answers and changed cells of this site in this browser?",
  kept_full: "The storage of this browser is full: what you answer and change stays until this page is closed; save progress.json to keep your answers.",
  kept_forbidden: "This browser keeps nothing for this site: what you answer and change stays until this page is closed; save progress.json to keep your answers.",
};

const chinese = {
  run: "运行", run_all: "全部运行", stop: "停止", code: "单元格 {cell} 的代码；Tab 缩进，Esc 离开",
  loads: "正在加载 Python：{total} MB", starts: "Python 正在启动",
  ready: "Python 已就绪", stopped: "已停止。Python 正在重新启动；你的回答会保留。",
  died: "Python 已结束（{why}）。它正在重新启动；你的回答会保留。",
  details: "出错的位置",
  no_start: "本页无法运行 Python：{why} 文字和图片保持原样。{try}",
  blocked: "浏览器阻止了 worker 或 WebAssembly。",
  missing: "有一个文件无法加载（{file}）。",
  unknown: "{error}。",
  try_reload: "请重新加载本页，换一个浏览器，或在电脑上安装 memlab。",
  link_comes: "Python 就绪后，这里会显示链接所指的图。",
  link_stored: "链接所指的图需要 Python；这里是预先保存的图。",
  link_lost: "链接指向的单元格不在本页中。",
  link_waits: "链接指向的图还没有出现；请先回答它上面的问题。",
  edited: "你已修改这个单元格。", reset: "恢复这个单元格",
  kept: "进度", kept_save: "保存 progress.json", kept_open: "加入一个文件：", kept_forget: "全部清除",
  kept_here: "你的回答保存在这个浏览器里。", kept_nothing: "还没有回答。",
  kept_read: "{file} 已加入你的回答。", kept_wait: "请等到 Python 就绪。",
  kept_sure: "要清除本站在这个浏览器里保存的所有回答和修改过的单元格吗？",
  kept_full: "浏览器的存储空间已满：你的回答和修改只保留到关闭本页为止；请保存 progress.json。",
  kept_forbidden: "这个浏览器不为本站保存数据：你的回答和修改只保留到关闭本页为止；请保存 progress.json。",
};

const table = document.documentElement.lang.startsWith("zh") ? { ...english, ...chinese } : english;

export function words(key, values = {}) {
  return table[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
