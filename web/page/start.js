// The first script of a live page, which browsers load from a file, too: it starts the others, or
// says why they cannot start.
(function () {
  var page = document.currentScript.src.replace(/[^/]*$/, "page.js");
  var chinese = /^zh/.test(document.documentElement.lang);
  function say(why, rest) {
    var place = document.getElementById("python");
    if (place) place.textContent = why + " " + rest;
    if (place) place.className = "failed";
  }
  function begin() {
    if (location.protocol === "file:") {
      say(chinese ? "作为文件打开的网页不能运行 Python；文字和图片保持原样。"
        : "Python does not run in a page that is opened as a file; texts and pictures stay as they were stored.",
      chinese ? "请通过网址打开本站，或启动它旁边的小型服务器。"
        : "Open the site from a web address, or start the small server that lies beside it.");
      return;
    }
    var script = document.createElement("script");
    script.type = "module";
    script.src = page;
    script.onerror = function () {
      say(chinese ? "本页的脚本无法加载；文字和图片保持原样。"
        : "A script of this page could not be loaded; texts and pictures stay as they were stored.",
      chinese ? "请重新加载本页。" : "Reload the page.");
    };
    document.head.append(script);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
}());
